import { execFile } from 'node:child_process';
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/**
 * `npm run build` makes the package `postrider-client` from src/client: ES modules and CommonJS by one
 * pass of the compiler each, its own package.json, docs/client.md as its README, and the licence. `npm pack` it from there.
 */

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

/** @returns the folder of the package */
export async function packClient(
  folder: string = join(root, 'dist/postrider-client'),
): Promise<string> {
  await rm(folder, { recursive: true, force: true });
  const [esm, cjs] = [join(folder, 'esm'), join(folder, 'cjs')];
  await Promise.all([
    compile('src/client/tsconfig.json', esm),
    compile('src/client/tsconfig.commonjs.json', cjs),
  ]);
  await writeFile(join(cjs, 'client/kafka.js'), kafkaBridge);
  await writeFile(join(cjs, 'package.json'), toJson({ type: 'commonjs' }));
  for (const ending of ['.js', '.d.ts']) {
    await prune(esm, ending);
    await prune(cjs, ending);
  }
  await cp(join(root, 'docs/client.md'), join(folder, 'README.md'));
  await cp(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  await writeFile(join(folder, 'package.json'), toJson(await manifest()));
  return folder;
}

/**
 * The Kafka side reaches into kafkajs by `import.meta`, which CommonJS has not, so there is one copy of
 * it, an ES module. The compiler would make `require` of an `import()` here.
 */
const kafkaBridge = `'use strict';
exports.openKafka = async (settings) =>
  (await import('../../esm/client/kafka.js')).openKafka(settings);
`;

const entries = ['client/index', 'client/verify'];

async function compile(project: string, outDir: string): Promise<void> {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  try {
    await run(process.execPath, [tsc, '-p', project, '--outDir', outDir], { cwd: root });
  } catch (error) {
    // The compiler says what is wrong on stdout.
    throw new Error(String((error as { stdout?: unknown }).stdout), { cause: error });
  }
}

/** Modules that are imported for their types only are compiled too; nobody loads them. */
async function prune(folder: string, ending: string): Promise<void> {
  const reached = new Set<string>();
  const open = entries.map((entry) => join(folder, entry + ending));
  for (const file of open) {
    if (reached.has(file)) continue;
    reached.add(file);
    const text = await readFile(file, 'utf8');
    for (const [, path = ''] of text.matchAll(/(?:from|import|require) ?\(?['"](\.[^'"]+)['"]/g)) {
      const imported = resolve(dirname(file), path).replace(/\.(js|ts)$/, ending);
      if (imported.startsWith(folder)) open.push(imported);
    }
  }
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const { name, parentPath } of files.filter((file) => file.isFile())) {
    const file = join(parentPath, name);
    if (file.endsWith(ending) && !reached.has(file)) await rm(file);
  }
}

interface PackageJson {
  readonly version: string;
  readonly license: string;
  readonly dependencies: Readonly<Record<string, string>>;
}

async function manifest(): Promise<object> {
  const { version, license, dependencies } = JSON.parse(
    await readFile(join(root, 'package.json'), 'utf8'),
  ) as PackageJson;
  const exportOf = (name: string): object => ({
    import: { types: `./esm/client/${name}.d.ts`, default: `./esm/client/${name}.js` },
    require: { types: `./cjs/client/${name}.d.ts`, default: `./cjs/client/${name}.js` },
  });
  return {
    name: 'postrider-client',
    version,
    description: 'Records analytics calls and sends them to Postrider in the background',
    license,
    type: 'module',
    engines: { node: '>=18' },
    sideEffects: false,
    main: './cjs/client/index.js',
    types: './cjs/client/index.d.ts',
    exports: {
      '.': exportOf('index'),
      './verify': exportOf('verify'),
      './package.json': './package.json',
    },
    // For compilers that do not read `exports`.
    typesVersions: { '*': { verify: ['./cjs/client/verify.d.ts'] } },
    files: ['esm', 'cjs'],
    peerDependencies: { kafkajs: dependencies['kafkajs'] },
    peerDependenciesMeta: { kafkajs: { optional: true } },
  };
}

function toJson(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

if (import.meta.main) console.log(await packClient());
