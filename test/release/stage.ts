import { execFile } from 'node:child_process';
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** The package `postrider` as it is published: a folder that `npm pack` and `npm publish` take. */

const root: string = fileURLToPath(new URL('../..', import.meta.url));

/** A manifest, as far as the package needs it. */
type Manifest = Readonly<Record<string, unknown>>;

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string }>>;
}

/** Fields of the project's manifest that mean something to who installs the package. */
const kept = ['name', 'version', 'description', 'license', 'type', 'engines', 'repository'];

/**
 * The manifest of the package. The rest of the project's manifest is for working in a clone. An installation gets
 * the releases of the dependencies that the tests ran on.
 */
export function manifestOf(project: Manifest, lock: Lock): Manifest {
  const locked = (field: string): object =>
    Object.fromEntries(
      Object.keys(project[field] as object).map((name) => [
        name,
        lock.packages[`node_modules/${name}`]?.version,
      ]),
    );
  return {
    ...Object.fromEntries(kept.map((name) => [name, project[name]])),
    keywords: ['webhooks', 'kafka', 'events', 'delivery', 'segment'],
    bin: { postrider: 'dist/cli/postrider.mjs' },
    exports: { './package.json': './package.json' },
    dependencies: locked('dependencies'),
    optionalDependencies: locked('optionalDependencies'),
    publishConfig: { access: 'public', provenance: true },
  };
}

/** Builds the package into a folder, which is made anew. */
export async function stagePackage(to: string): Promise<void> {
  await rm(to, { recursive: true, force: true });
  const dist = join(to, 'dist');
  const node = async (...args: string[]): Promise<void> => {
    await promisify(execFile)(process.execPath, args, { cwd: root });
  };
  // Types are checked by `npm run check`, which comes before a release.
  await node('node_modules/typescript/bin/tsc', '-p', 'src', '--noCheck', '--outDir', dist);
  await node('src/console/build-pages.ts', join(dist, 'console', 'pages'));
  for (const path of ['LICENSE', 'README.md', 'CHANGELOG.md', 'deploy/compose/kafka.yml'])
    await cp(join(root, path), join(to, path));
  for (const path of ['dev/data', 'cli/postrider.mjs'])
    await cp(join(root, 'src', path), join(dist, path), { recursive: true });
  const project = await readJson<Manifest>('package.json');
  const lock = await readJson<Lock>('package-lock.json');
  await writeFile(
    join(to, 'package.json'),
    `${JSON.stringify(manifestOf(project, lock), null, 2)}\n`,
  );
}

async function readJson<T>(path: string): Promise<T> {
  return JSON.parse(await readFile(join(root, path), 'utf8')) as T;
}

/** For a release: `node test/release/stage.ts FOLDER` */
if (import.meta.main) {
  const [to] = process.argv.slice(2);
  if (to === undefined) throw new Error('which folder? node test/release/stage.ts FOLDER');
  await stagePackage(to);
}
