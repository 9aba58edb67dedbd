import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { closeChangelog, moveVersion, nextVersion, notesOf, releasedIn } from './version.ts';

/**
 * `npm run release -- minor`: makes the commit and the tag of a release, which publish it once somebody pushes them.
 * It works in the clone that it is started in.
 */

const root = process.cwd();

/** Everything that is not as it must be for a release. */
class Refusal extends Error {}

function git(args: readonly string[], cwd: string = root): string {
  return execFileSync('git', args, { cwd, encoding: 'utf8' });
}

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}

function refuseDirtyTree(): void {
  const changed = git(['status', '--porcelain']).trim();
  if (changed !== '') throw new Refusal(`the tree has changes; commit or remove them:\n${changed}`);
}

function refuseRedCheck(): void {
  const { status } = spawnSync('npm', ['run', 'check'], { cwd: root, stdio: 'inherit' });
  if (status !== 0) throw new Refusal('the check is red');
}

/** What the upgrade tests run as the release before. */
const formerFile = 'test/upgrade/release.tar.gz';

/** The upgrade tests are about the last release, if there is one. */
function refuseOtherFormer(): void {
  const [last] = releasedIn(read('CHANGELOG.md'));
  if (last === undefined) return;
  const manifest = execFileSync('tar', ['-xzOf', formerFile, 'package/package.json'], {
    cwd: root,
    encoding: 'utf8',
  });
  const { version } = JSON.parse(manifest) as { version: string };
  if (version !== last)
    throw new Refusal(
      `the upgrade tests start from ${version}, and ${last} is the last release; npm run pack-release -- postrider-${last}.tgz`,
    );
}

/** The files that the release changes, by name. */
function changesFor(wanted: string): { version: string; files: Map<string, string> } {
  const { version: present } = JSON.parse(read('package.json')) as { version: string };
  const changelog = read('CHANGELOG.md');
  const version = nextVersion(present, wanted, releasedIn(changelog));
  const today = new Date().toISOString().slice(0, 10);
  const closed = closeChangelog(changelog, version, today);
  return { version, files: moveVersion(read, present, version).set('CHANGELOG.md', closed) };
}

/** Packs the release in a tree of its own, so that a clone with a release that fails stays as it is. */
function pack(files: ReadonlyMap<string, string>, to: string): void {
  const tree = join(root, '.cache', 'release', 'tree');
  const remove = (): void => {
    if (existsSync(tree)) git(['worktree', 'remove', '--force', tree]);
  };
  remove();
  git(['worktree', 'add', '--quiet', '--detach', tree]);
  try {
    const modules = join(root, 'node_modules');
    if (existsSync(modules)) symlinkSync(modules, join(tree, 'node_modules'));
    for (const [file, text] of files) writeFileSync(join(tree, file), text);
    rmSync(to, { recursive: true, force: true });
    mkdirSync(to, { recursive: true });
    const packed = spawnSync('npm', ['run', '--silent', 'package', '--', to], {
      cwd: tree,
      stdio: 'inherit',
    });
    if (packed.status !== 0) throw new Refusal('the packages cannot be made');
  } finally {
    remove();
  }
}

function commit(version: string, files: ReadonlyMap<string, string>): void {
  for (const [file, text] of files) writeFileSync(join(root, file), text);
  git(['commit', '--quiet', '--message', `release: ${version}`, '--', ...files.keys()]);
  const notes = notesOf(files.get('CHANGELOG.md') ?? '', version);
  git(['tag', '--annotate', `v${version}`, '--cleanup=verbatim', '--message', notes]);
}

/** After the tag, because the tests of the release itself are about the one before. */
function keepForUpgrades(version: string, packedDir: string): void {
  const file = join(packedDir, `postrider-${version}.tgz`);
  const { status } = spawnSync('npm', ['run', '--silent', 'pack-release', '--', file], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) throw new Refusal(`${file} cannot be kept for the upgrade tests`);
  git(['add', '--', formerFile]);
  const message = `upgrade: tests start from ${version}`;
  git(['commit', '--quiet', '--message', message, '--', formerFile]);
}

function release(wanted: string, isDry: boolean): void {
  refuseDirtyTree();
  refuseOtherFormer();
  const { version, files } = changesFor(wanted);
  if (!isDry) refuseRedCheck();
  const to = resolve(root, '.cache', 'release', version);
  process.stdout.write(`${version} publishes, from .cache/release/${version}:\n`);
  pack(files, to);
  process.stdout.write(`It changes ${[...files.keys()].join(', ')}.\n`);
  if (isDry) {
    process.stdout.write('Dry run: no check was made, and nothing was changed.\n');
    return;
  }
  commit(version, files);
  keepForUpgrades(version, to);
  process.stdout.write(
    `The tag v${version} is made, and a commit after it, with which upgrade tests start from ${version}. ` +
      'To publish it: git push --follow-tags\n',
  );
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { 'dry-run': { type: 'boolean', default: false } },
});
try {
  const [wanted, ...others] = positionals;
  if (wanted === undefined || others.length > 0)
    throw new Refusal('which release? npm run release -- major|minor|patch|VERSION [--dry-run]');
  release(wanted, values['dry-run']);
} catch (error) {
  process.stderr.write(`release: ${(error as Error).message}\n`);
  process.exitCode = 1;
}
