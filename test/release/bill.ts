import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/** The list of what a release consists of: CycloneDX, as npm makes it from the lock file. */

/** The build puts them into the console's pages, so an installation has them without their packages. */
const inPages: readonly string[] = ['preact', 'uplot'];

interface Component {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
}

interface Dependency {
  readonly ref: string;
  readonly dependsOn: readonly string[];
}

export interface Bill {
  readonly bomFormat: string;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly Dependency[];
}

/** The bill of the whole project, less what only its developers get. */
export function publishedPart(bill: Bill): Bill {
  const components = bill.components
    .filter((component) => !isForDevelopers(component) || inPages.includes(component.name))
    .map((component) =>
      isForDevelopers(component) ? { ...component, properties: [] } : component,
    );
  const { component } = bill.metadata;
  const refs = new Set([component, ...components].map((each) => each['bom-ref']));
  const dependencies = bill.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => refs.has(each)) }));
  const metadata = { ...bill.metadata, component: { ...component, name: 'postrider' } };
  return { ...bill, metadata, components, dependencies };
}

function isForDevelopers({ properties = [] }: Component): boolean {
  return properties.some(({ name, value }) => name.endsWith(':development') && value === 'true');
}

/** Writes the bill into the file `to`; `root` is the project's folder. */
export async function writeBill(root: string, to: string): Promise<void> {
  const args = ['sbom', '--package-lock-only', '--workspaces=false', '--sbom-format=cyclonedx'];
  const { stdout } = await promisify(execFile)('npm', args, {
    cwd: root,
    maxBuffer: 64 * 1_048_576,
  });
  const bill = publishedPart(JSON.parse(stdout) as Bill);
  await writeFile(to, `${JSON.stringify(bill, null, 2)}\n`);
}
