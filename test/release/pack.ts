import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { writeBill } from './bill.ts';
import { stagePackage } from './stage.ts';
import { notesOf, releasedIn } from './version.ts';

/** Makes every file of a release. Publishing takes them as they are. */

const run = promisify(execFile);
const root: string = fileURLToPath(new URL('../..', import.meta.url));

/** Writes the files into a folder, and gives their names. */
export async function packAll(to: string): Promise<string[]> {
  await mkdir(to, { recursive: true });
  const workDir = await mkdtemp(join(tmpdir(), 'postrider-release-'));
  try {
    const pipeline = stagePackage(workDir).then(() => npmPack(workDir, to));
    const client = npmPack(join(root, 'src', 'client'), to);
    const bill = `postrider-${await presentVersion()}.cdx.json`;
    await writeBill(root, join(to, bill));
    return [await pipeline, await client, await packChart(to), bill, await writeNotes(to)];
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
}

async function npmPack(folder: string, to: string): Promise<string> {
  const args = ['pack', folder, '--silent', '--pack-destination', to];
  const { stdout } = await run('npm', args, { cwd: root });
  return stdout.trim().split('\n').at(-1) ?? '';
}

/** As `helm package` does: the chart in a folder with its name. */
async function packChart(to: string): Promise<string> {
  const workDir = await mkdtemp(join(tmpdir(), 'postrider-chart-'));
  await cp(join(root, 'deploy', 'chart'), join(workDir, 'postrider'), { recursive: true });
  const name = `postrider-chart-${await presentVersion()}.tgz`;
  await run('tar', ['-czf', join(to, name), '-C', workDir, 'postrider']);
  await rm(workDir, { recursive: true });
  return name;
}

async function writeNotes(to: string): Promise<string> {
  const changelog = await readFile(join(root, 'CHANGELOG.md'), 'utf8');
  const version = await presentVersion();
  // Between releases, the version's section is still open.
  const isClosed = releasedIn(changelog).includes(version);
  const notes = isClosed ? notesOf(changelog, version) : 'Not released.\n';
  await writeFile(join(to, 'notes.md'), notes);
  return 'notes.md';
}

async function presentVersion(): Promise<string> {
  const manifest = await readFile(join(root, 'package.json'), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}

/** `npm run package -- FOLDER`; also for the workflow that publishes. */
if (import.meta.main) {
  const [to] = process.argv.slice(2);
  if (to === undefined) throw new Error('which folder? npm run package -- FOLDER');
  for (const name of await packAll(to)) {
    const { size } = await stat(join(to, name));
    process.stdout.write(`${name}  ${Math.ceil(size / 1_000)} KB\n`);
  }
}
