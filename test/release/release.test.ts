import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeEach, afterEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { places } from './version.ts';

/** The command, in a clone that has only what it reads, and whose check and packing are one line each. */

const root = fileURLToPath(new URL('../..', import.meta.url));
const main = join(root, 'test/release/main.ts');

/** Packing prints the version, and keeping a package writes its name. */
const working = {
  check: 'exit 0',
  package: 'node -p "require(\'./package.json\').version"',
  'pack-release': 'echo > test/upgrade/release.tar.gz',
};

let clone: string;

beforeEach(() => {
  clone = mkdtempSync(join(tmpdir(), 'postrider-clone-'));
  for (const file of new Set(['CHANGELOG.md', ...places.map(([name]) => name)])) {
    mkdirSync(dirname(join(clone, file)), { recursive: true });
    cpSync(join(root, file), join(clone, file));
  }
  cpSync(join(root, '.gitignore'), join(clone, '.gitignore'));
  write('CHANGELOG.md', '# Changelog\n\n## Unreleased\n\n### Added\n\n- A thing.\n');
  keepFormer('0.0.0');
  scripts(working);
  git('init', '--quiet', '--initial-branch=main');
  git('config', 'user.name', 'T');
  git('config', 'user.email', 't@postrider.test');
  commit();
});

afterEach(() => {
  rmSync(clone, { recursive: true });
});

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: clone, encoding: 'utf8' });
}

function commit(): void {
  git('add', '--all');
  git('commit', '--quiet', '--message', 'all');
}

function read(file: string): string {
  return readFileSync(join(clone, file), 'utf8');
}

function write(file: string, text: string): void {
  writeFileSync(join(clone, file), text);
}

/** Makes this version the one that the upgrade tests start from. */
function keepFormer(version: string): void {
  mkdirSync(join(clone, 'test/upgrade'), { recursive: true });
  mkdirSync(join(clone, 'package'));
  write('package/package.json', JSON.stringify({ version }));
  execFileSync('tar', ['-czf', 'test/upgrade/release.tar.gz', 'package'], { cwd: clone });
  rmSync(join(clone, 'package'), { recursive: true });
}

function scripts(some: Readonly<Record<string, string>>): void {
  const manifest = JSON.parse(read('package.json')) as object;
  write('package.json', `${JSON.stringify({ ...manifest, scripts: some }, null, 2)}\n`);
}

function release(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [main, ...args], { cwd: clone, encoding: 'utf8' });
}

test('a release is one commit with the version everywhere, and a tag with its notes', () => {
  const { status, stdout, stderr } = release('9.8.7');
  assert.equal(status, 0, stderr);
  // What is packed has the version already.
  assert.match(stdout, /^9\.8\.7$/m);
  assert.equal(git('status', '--porcelain'), '');
  assert.equal(git('log', '-1', '--format=%s', 'v9.8.7'), 'release: 9.8.7\n');
  assert.equal(
    git('tag', '-l', '--format=%(contents)', 'v9.8.7').trim(),
    '### Added\n\n- A thing.',
  );
  for (const [file, before, after] of places)
    assert.ok(read(file).includes(`${before}9.8.7${after}`), file);
  // What is published is what the upgrade tests of the next release start from.
  assert.equal(git('log', 'v9.8.7..', '--format=%s'), 'upgrade: tests start from 9.8.7\n');
  assert.match(
    read('test/upgrade/release.tar.gz'),
    /\/\.cache\/release\/9\.8\.7\/postrider-9\.8\.7\.tgz$/m,
  );
  keepFormer('9.8.7');
  commit();
  assert.match(release('minor').stderr, /CHANGELOG\.md has nothing under Unreleased/);
  keepFormer('9.8.6');
  commit();
  assert.match(release('minor').stderr, /the upgrade tests start from 9\.8\.6, and 9\.8\.7 is the/);
});

test('a dry run packs the release, and changes nothing', () => {
  const head = git('rev-parse', 'HEAD');
  const { status, stdout, stderr } = release('9.8.7', '--dry-run');
  assert.equal(status, 0, stderr);
  assert.match(stdout, /^9\.8\.7$/m);
  assert.deepEqual(
    [git('status', '--porcelain'), git('tag'), git('rev-parse', 'HEAD')],
    ['', '', head],
  );
  assert.equal(git('worktree', 'list').trim().split('\n').length, 1);
});

test('changes in the tree, a red check, packages that cannot be made and a wrong word are refused', () => {
  write('extra', '');
  assert.match(release('minor').stderr, /^release: the tree has changes.*\n\?\? extra$/m);
  rmSync(join(clone, 'extra'));
  assert.match(release().stderr, /^release: which release\?/);
  assert.match(release('mayor').stderr, /^release: mayor is no release/);
  scripts({ check: 'exit 3', package: 'exit 4' });
  commit();
  assert.match(release('minor').stderr, /^release: the check is red$/m);
  assert.match(release('minor', '--dry-run').stderr, /^release: the packages cannot be made$/m);
  assert.deepEqual([git('status', '--porcelain'), git('tag')], ['', '']);
});
