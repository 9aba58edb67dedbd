import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { planted, type Mutant } from './operators.ts';
import { plantedTextsVariable } from './plant.ts';
import { runLimited } from './run-limited.ts';
import { root } from './targets.ts';
import { cacheFolder, runsPlace, type UsualRuns } from './usual-runs.ts';

/** What became of a mutant. */
export interface Finding {
  readonly mutant: Mutant;
  readonly by: 'unit tests' | 'simulation' | 'nothing';
  /** The test file, or `simulate`, and whether it failed or hung. */
  readonly what?: string;
  readonly hung?: boolean;
}

/** A finding that stands while the tests that led to it, and all that they load, are the same. */
export interface KnownFinding extends Pick<Finding, 'by' | 'what' | 'hung'> {
  readonly state: string;
}

const pipelineName = 'npm run simulate';
const pipelineChild = 'test/lab/mutation/simulate-seeds.child.ts';
const plantUrl = new URL('plant.ts', import.meta.url).href;
export const pipelineSeeds = 20;
/** What the simulation of so many seeds takes, on a slow processor. */
const pipelineCpuMs = 150_000;
/**
 * A test that runs in a loop is found when it has used what all of its process usually do one by one, and this: several
 * times what they use together.
 */
const startCpuMs = 8_000;
/** So many of the near tests are tried before all others. */
const mostNear = 4;
const failedFile = /^test at (\S+?):\d+:\d+/m;

/** Longer ones are left to `npm test`. */
interface TestKind {
  readonly isOne: (test: string) => boolean;
  readonly longestMs: number;
}

const isSimulation = (test: string): boolean => test.startsWith('test/simulation/');
const unitTests: TestKind = { isOne: (test) => !isSimulation(test), longestMs: 40_000 };
const engineSimulations: TestKind = { isOne: isSimulation, longestMs: 20_000 };

/** Runs the cheapest tests first, until one fails. */
export class Finder {
  readonly #usual: UsualRuns;
  readonly #known: ReadonlyMap<string, KnownFinding>;
  #planted = 0;

  /** @param known by the mutant's id */
  constructor(usual: UsualRuns, known: ReadonlyMap<string, KnownFinding>) {
    this.#usual = usual;
    this.#known = known;
  }

  /** What decides that the finding is still true. */
  stateOf({ mutant, what }: Finding): string {
    const simulations = what === undefined || what === pipelineName ? [pipelineChild] : [];
    const all = [...this.#usual.loading(mutant.file), ...simulations];
    return this.#usual.stateOf(
      what === undefined ? all : what === pipelineName ? simulations : [what],
    );
  }

  async find(mutant: Mutant): Promise<Finding> {
    const known = this.#known.get(mutant.id);
    // A busy machine may let a test look as if it hung, so that is tried again.
    if (known !== undefined && known.hung !== true) {
      const finding = { mutant, ...known };
      if (this.stateOf(finding) === known.state) return finding;
    }
    const { env, remove } = this.#plant(mutant);
    try {
      const byTest = await this.#tryTests(mutant, env, unitTests);
      if (byTest !== undefined) return { mutant, by: 'unit tests', ...byTest };
      console.log(`Not found by unit tests: line ${mutant.line} ${mutant.id}`);
      const args = [pipelineChild, String(pipelineSeeds)];
      const { how } = await runLimited({ args, env, mostCpuMs: pipelineCpuMs });
      if (how !== 'passed')
        return { mutant, by: 'simulation', what: pipelineName, hung: how === 'hung' };
      const bySimulation = await this.#tryTests(mutant, env, engineSimulations);
      if (bySimulation !== undefined) return { mutant, by: 'simulation', ...bySimulation };
      return { mutant, by: 'nothing' };
    } finally {
      remove();
    }
  }

  async #tryTests(
    mutant: Mutant,
    env: NodeJS.ProcessEnv,
    kind: TestKind,
  ): Promise<{ what: string; hung: boolean } | undefined> {
    const tests = await this.#testsOf(mutant, kind);
    const before = this.#known.get(mutant.id)?.what;
    const first = tests.filter(({ test }) => test === before);
    const near = tests.filter((each) => each.isNear && !first.includes(each)).slice(0, mostNear);
    // The rest in one process: most of what a test file costs is to load what it tests.
    const others = tests.filter((each) => ![...first, ...near].includes(each));
    for (const batch of [first, near, others]) {
      if (batch.length === 0) continue;
      const files = batch.map(({ test }) => test);
      const args = ['--test', '--test-isolation=none', ...files];
      const mostCpuMs = batch.reduce((sum, { cpuMs }) => sum + cpuMs, 0) + startCpuMs;
      const { how, output } = await runLimited({ args, env, mostCpuMs });
      if (how === 'passed') continue;
      const failed = failedFile.exec(output)?.[1];
      const what = failed ?? files.at(-1) ?? '';
      if (await passesWithoutIt(failed === undefined ? files : [failed], mostCpuMs))
        return { what, hung: how === 'hung' };
    }
    return undefined;
  }

  /** Near: in the folder of the file's own tests. The cheapest come first. */
  async #testsOf(
    mutant: Mutant,
    { isOne, longestMs }: TestKind,
  ): Promise<{ test: string; cpuMs: number; isNear: boolean }[]> {
    const folder = dirname(mutant.file).replace('src/', 'test/');
    const tests = [];
    for (const test of this.#usual.loading(mutant.file).filter(isOne)) {
      const usual = await this.#usual.of(test);
      if (!usual.passed || usual.cpuMs > longestMs || !runsPlace(usual, mutant)) continue;
      tests.push({ test, cpuMs: usual.cpuMs, isNear: dirname(test) === folder });
    }
    return tests.sort((a, b) => a.cpuMs - b.cpuMs);
  }

  #plant(mutant: Mutant): { env: NodeJS.ProcessEnv; remove: () => void } {
    const path = join(root, mutant.file);
    mkdirSync(cacheFolder, { recursive: true });
    const file = join(cacheFolder, `planted-${process.pid}-${this.#planted++}.json`);
    const text = planted(readFileSync(path, 'utf8'), mutant);
    writeFileSync(file, JSON.stringify({ [path]: text }));
    const env = plantedEnv(file);
    return {
      env,
      remove: () => {
        rmSync(file, { force: true });
      },
    };
  }
}

/** On a busy machine a test may fail, or look as if it hung, by itself: that says nothing about the planted bug. */
async function passesWithoutIt(files: readonly string[], mostCpuMs: number): Promise<boolean> {
  const args = ['--test', '--test-isolation=none', ...files];
  const { how } = await runLimited({ args, env: process.env, mostCpuMs });
  if (how !== 'passed') console.log(`With nothing planted, ${how} too: ${files.join(' ')}`);
  return how === 'passed';
}

/** The environment of a process, and of those it starts, in which the texts of a file are planted. */
export function plantedEnv(file: string): NodeJS.ProcessEnv {
  return {
    ...process.env,
    // Hundreds of processes load the same sources.
    NODE_COMPILE_CACHE: join(cacheFolder, 'compiled'),
    NODE_OPTIONS: [process.env['NODE_OPTIONS'], `--import=${plantUrl}`].filter(Boolean).join(' '),
    [plantedTextsVariable]: file,
  };
}
