import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** The list of what a release consists of: CycloneDX, as npm makes it from the lock file. */

/** The build puts them into the console's pages, so an installation has them without their packages. */
const inPages: readonly string[] = ['preact', 'uplot'];

interface Component {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
}

interface Dependency {
  readonly ref: string;
  readonly dependsOn: readonly string[];
}

interface Manifest {
  readonly dependencies: object;
  readonly optionalDependencies: object;
}

export interface Bill {
  readonly bomFormat: string;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly Dependency[];
}

/**
 * The part of the whole project's bill that these packages and all that they need are. npm's own mark of what only
 * developers get is wrong where both have the same release of a package.
 */
export function publishedPart(bill: Bill, names: readonly string[]): Bill {
  const root = bill.metadata.component['bom-ref'];
  const needed = new Map(bill.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
  const direct = bill.components
    .filter(({ name }) => names.includes(name))
    .map((component) => component['bom-ref'])
    .filter((ref) => needed.get(root)?.includes(ref));
  const refs = new Set<string>();
  const add = (ref: string): void => {
    if (refs.has(ref)) return;
    refs.add(ref);
    needed.get(ref)?.forEach(add);
  };
  direct.forEach(add);
  const components = bill.components
    .filter((component) => refs.has(component['bom-ref']))
    .map((component) => ({ ...component, properties: [] }));
  const dependencies = [
    { ref: root, dependsOn: direct },
    ...bill.dependencies.filter(({ ref }) => refs.has(ref)),
  ];
  const component = { ...bill.metadata.component, name: 'postrider' };
  return { ...bill, metadata: { ...bill.metadata, component }, components, dependencies };
}

/** Writes the bill into the file `to`; `root` is the project's folder. */
export async function writeBill(root: string, to: string): Promise<void> {
  const args = ['sbom', '--package-lock-only', '--workspaces=false', '--sbom-format=cyclonedx'];
  const { stdout } = await promisify(execFile)('npm', args, {
    cwd: root,
    maxBuffer: 64 * 1_048_576,
  });
  const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as Manifest;
  const installed = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies });
  const bill = publishedPart(JSON.parse(stdout) as Bill, [...installed, ...inPages]);
  await writeFile(to, `${JSON.stringify(bill, null, 2)}\n`);
}
