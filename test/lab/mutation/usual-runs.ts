import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ImportGraph } from '../../harness/import-graph.ts';
import type { Mutant } from './operators.ts';
import { runLimited } from './run-limited.ts';
import { root } from './targets.ts';

/** How a test file runs while nothing is planted. */
export interface UsualRun {
  readonly passed: boolean;
  readonly cpuMs: number;
  /** By file: places in its text, as [start, end, whether it ran]. The smallest around a place counts. */
  readonly ran: Readonly<Record<string, readonly (readonly [number, number, boolean])[]>>;
}

/** Tests of what reads, delivers and writes. Others use it too, but of theirs nothing is mutated. */
const testGlob = 'test/{dead-letter,delivery,event,kafka,resources,router,simulation}/**/*.test.ts';
export const cacheFolder: string = join(root, '.cache/mutate');
/** Of a run that nobody has measured yet. */
const mostCpuMs = 300_000;

interface V8Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly ranges: readonly {
        readonly startOffset: number;
        readonly endOffset: number;
        readonly count: number;
      }[];
    }[];
  }[];
}

/** Which test files run a place, and what they cost. Measured once for each state of a test file and all it loads. */
export class UsualRuns {
  readonly #graph = new ImportGraph(root);
  readonly #runs = new Map<string, Promise<UsualRun>>();
  readonly #targets: ReadonlySet<string>;
  readonly #tests: readonly string[];

  constructor(targets: Iterable<string>) {
    this.#targets = new Set(targets);
    this.#tests = globSync(testGlob, { cwd: root }).sort();
  }

  /** Which test files load a file, itself or through others. */
  loading(file: string): string[] {
    return this.#tests.filter((test) => this.#graph.reachedFrom(test).has(file));
  }

  of(test: string): Promise<UsualRun> {
    let run = this.#runs.get(test);
    if (run === undefined) {
      run = this.#measure(test);
      this.#runs.set(test, run);
    }
    return run;
  }

  /** The same as long as these files, and all that they load, are the same. */
  stateOf(files: readonly string[]): string {
    const hash = createHash('sha256');
    const reached = new Set(files.flatMap((file) => [...this.#graph.reachedFrom(file)]));
    for (const file of [...reached].sort())
      hash.update(file).update(readFileSync(join(root, file)));
    return hash.digest('hex').slice(0, 16);
  }

  async #measure(test: string): Promise<UsualRun> {
    const name = `${basename(test)}-${this.stateOf([test])}`;
    const file = join(cacheFolder, 'usual', `${name}.json`);
    if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as UsualRun;
    const coverage = join(cacheFolder, 'coverage', `${name}-${process.pid}`);
    rmSync(coverage, { recursive: true, force: true });
    const env = { ...process.env, NODE_V8_COVERAGE: coverage };
    const { how, cpuMs, output } = await runLimited({ args: [test], env, mostCpuMs });
    const passed = how === 'passed';
    if (!passed)
      console.log(
        `${test} ${how} with nothing planted, so it is left out:\n${output.slice(-1_500)}`,
      );
    const run = { passed, cpuMs, ran: passed ? this.#read(coverage) : {} };
    rmSync(coverage, { recursive: true, force: true });
    if (passed) {
      mkdirSync(join(cacheFolder, 'usual'), { recursive: true });
      writeFileSync(file, JSON.stringify(run));
    }
    return run;
  }

  #read(folder: string): UsualRun['ran'] {
    const ran: Record<string, [number, number, boolean][]> = {};
    const base = pathToFileURL(root).href;
    for (const name of readdirSync(folder)) {
      const { result } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as V8Coverage;
      for (const { url, functions } of result) {
        const file = url.startsWith(base) ? url.slice(base.length) : '';
        if (!this.#targets.has(file)) continue;
        const places = (ran[file] ??= []);
        for (const { ranges } of functions)
          for (const { startOffset, endOffset, count } of ranges)
            places.push([startOffset, endOffset, count > 0]);
      }
    }
    return ran;
  }
}

/** Whether a run comes to the place of a mutant. */
export function runsPlace({ ran }: UsualRun, { file, start }: Mutant): boolean {
  let smallest = Infinity;
  let runs = false;
  for (const [from, to, is] of ran[file] ?? []) {
    if (from > start || start >= to || to - from > smallest) continue;
    // Several processes, or several runs of one function: any of them counts.
    runs = to - from < smallest ? is : runs || is;
    smallest = to - from;
  }
  return runs;
}
