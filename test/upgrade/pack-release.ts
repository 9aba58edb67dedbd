import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { releaseFile } from './builds.ts';

/**
 * Keeps what the upgrade tests run beside the sources of now: the roles of a release, from the file that was published.
 * `npm run release` calls it; by hand: `npm run pack-release -- postrider-1.2.0.tgz`.
 */

/** No role needs them. */
const left = ['README.md', 'CHANGELOG.md', 'dist/console/pages', 'dist/dev/data'];

/** The same file makes the same bytes, so that a repetition changes nothing. */
const plain = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner'];

const [published] = process.argv.slice(2);
if (published === undefined || !existsSync(published))
  throw new Error('which file? npm run pack-release -- postrider-VERSION.tgz');
const folder = mkdtempSync(join(tmpdir(), 'postrider-former-'));
try {
  execFileSync('tar', ['-xzf', resolve(published), '-C', folder]);
  for (const path of left) rmSync(join(folder, 'package', path), { recursive: true, force: true });
  const args = [...plain, '--use-compress-program=gzip -9n', '-cf', releaseFile, 'package'];
  execFileSync('tar', args, { cwd: folder });
} finally {
  rmSync(folder, { recursive: true });
}
