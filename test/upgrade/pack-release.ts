import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { releaseFile } from './builds.ts';

/**
 * Packs what the upgrade tests run beside the sources of now: the roles of a release. To be run when a release
 * is made, with its tag: `npm run pack-release -- v1.2.0`. The file names the commit.
 */
const [commit = 'HEAD'] = process.argv.slice(2);

/** No role needs them. */
const left = ['src/client', 'src/dev/data', 'src/console/web'];

const { status } = spawnSync(
  'git',
  [
    'archive',
    '--format=tar.gz',
    '-9',
    `--output=${releaseFile}`,
    commit,
    'package.json',
    'src',
    ...left.map((folder) => `:(exclude)${folder}`),
  ],
  { cwd: fileURLToPath(new URL('../..', import.meta.url)), stdio: 'inherit' },
);
process.exitCode = status ?? 1;
