import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const imported = /(?:from|import)\s*\(?\s*'(\.[^']+\.tsx?)'|new URL\('(\.[^']+\.ts)'/g;

/** Which files a file loads, itself or through others. */
export class ImportGraph {
  readonly #root: string;
  readonly #direct = new Map<string, readonly string[]>();

  /** @param root the project's folder, to which all paths are relative */
  constructor(root: string) {
    this.#root = root;
  }

  /**
   * With the file itself.
   * @param isLeftOut neither such a file nor what only it loads
   */
  reachedFrom(
    file: string,
    isLeftOut: (file: string) => boolean = () => false,
  ): ReadonlySet<string> {
    const reached = new Set([file]);
    for (const each of reached)
      for (const next of this.#importsOf(each)) if (!isLeftOut(next)) reached.add(next);
    return reached;
  }

  #importsOf(file: string): readonly string[] {
    let imports = this.#direct.get(file);
    if (imports === undefined) {
      const text = readFileSync(join(this.#root, file), 'utf8');
      imports = [...text.matchAll(imported)]
        .map(([, from, url]) => join(dirname(file), from ?? url ?? ''))
        .filter((each) => existsSync(join(this.#root, each)));
      this.#direct.set(file, imports);
    }
    return imports;
  }
}
