import { createHash } from 'node:crypto';
import { type Dirent, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { ImportGraph } from '../harness/import-graph.ts';

const literal = /['"`]((?:\.{0,2}\/)?[\w@.-]+(?:\/[\w@.-]*)*)/g;
/** Folders that hold nothing of the project's own. */
const made = new Set(['node_modules', '.git', '.cache', 'dist']);
/** What every test depends on. */
const always = ['package-lock.json', 'package.json', 'tsconfig.json'];
/** Too wide, or outside of every test's reach. */
const notRead = new Set(['.', './', 'test', 'node_modules', '']);

/** What a test's own code names beside its imports. */
interface Named {
  /** Files, alone or by a folder. */
  readonly files: readonly string[];
  readonly startsProcesses: boolean;
}

/**
 * Remembers which test files passed, and with what. A file need not run again while everything is the same
 * that it loads, that it or the test code that it loads names by path, and, if it starts processes, that a
 * command loads.
 */
export class PassedTests {
  readonly #root: string;
  readonly #place: string;
  readonly #graph: ImportGraph;
  readonly #known: Record<string, string>;
  readonly #files: readonly string[];
  readonly #hashes = new Map<string, string>();
  readonly #named = new Map<string, Named>();

  constructor(root: string) {
    this.#root = root;
    this.#place = join(root, '.cache/tests/passed.json');
    this.#graph = new ImportGraph(root);
    this.#known = existsSync(this.#place)
      ? (JSON.parse(readFileSync(this.#place, 'utf8')) as Record<string, string>)
      : {};
    const options = {
      cwd: root,
      withFileTypes: true,
      exclude: ({ name }: Dirent) => made.has(name),
    } as const;
    this.#files = globSync('**', options)
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => relative(root, join(parentPath, name)));
  }

  /** What a test file depends on, in a few characters. */
  stateOf(test: string): string {
    const reached = new Set([...this.#graph.reachedFrom(test), ...always]);
    let startsProcesses = false;
    for (const file of [...reached]) {
      if (!file.startsWith('test/')) continue;
      const named = this.#namedIn(file);
      startsProcesses ||= named.startsProcesses;
      for (const each of named.files) reached.add(each);
    }
    if (startsProcesses)
      for (const file of this.#graph.reachedFrom('src/cli/main.ts')) reached.add(file);
    const hash = createHash('sha256').update(process.version);
    for (const file of [...reached].sort()) hash.update(file).update(this.#hashOf(file));
    return hash.digest('hex').slice(0, 16);
  }

  has(test: string): boolean {
    return this.#known[test] === this.stateOf(test);
  }

  add(test: string, state: string): void {
    this.#known[test] = state;
  }

  write(): void {
    mkdirSync(dirname(this.#place), { recursive: true });
    writeFileSync(this.#place, JSON.stringify(this.#known));
  }

  #namedIn(file: string): Named {
    let named = this.#named.get(file);
    if (named === undefined) {
      const text = readFileSync(join(this.#root, file), 'utf8');
      const paths = [...text.matchAll(literal)].map(([, path = '']) =>
        normalize(path.startsWith('.') ? join(dirname(file), path) : path).replace(/\/$/, ''),
      );
      const files = [...new Set(paths)]
        .filter((path) => !notRead.has(path) && !path.startsWith('..'))
        .flatMap((path) =>
          this.#files.filter((each) => each === path || each.startsWith(`${path}/`)),
        );
      named = { files, startsProcesses: text.includes("'node:child_process'") };
      this.#named.set(file, named);
    }
    return named;
  }

  #hashOf(file: string): string {
    let hash = this.#hashes.get(file);
    if (hash === undefined) {
      const path = join(this.#root, file);
      const bytes = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
      hash = createHash('sha256').update(bytes).digest('hex');
      this.#hashes.set(file, hash);
    }
    return hash;
  }
}
