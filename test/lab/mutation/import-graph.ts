import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from './targets.ts';

const imported = /(?:from|import)\s*\(?\s*'(\.[^']+\.tsx?)'|new URL\('(\.[^']+\.ts)'/g;

/** Which files a file loads, itself or through others. Paths from the project's folder. */
export class ImportGraph {
  readonly #direct = new Map<string, readonly string[]>();

  /** With the file itself. */
  reachedFrom(file: string): ReadonlySet<string> {
    const reached = new Set([file]);
    for (const each of reached) for (const next of this.#importsOf(each)) reached.add(next);
    return reached;
  }

  #importsOf(file: string): readonly string[] {
    let imports = this.#direct.get(file);
    if (imports === undefined) {
      const text = readFileSync(join(root, file), 'utf8');
      imports = [...text.matchAll(imported)]
        .map(([, from, url]) => join(dirname(file), from ?? url ?? ''))
        .filter((each) => existsSync(join(root, each)));
      this.#direct.set(file, imports);
    }
    return imports;
  }
}

/** Tests of what reads, delivers and writes. Others use it too, but of theirs nothing is mutated. */
const testGlob = 'test/{dead-letter,delivery,event,kafka,resources,router,simulation}/**/*.test.ts';

export function testFiles(): string[] {
  return globSync(testGlob, { cwd: root }).sort();
}
