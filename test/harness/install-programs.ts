import { execFileSync } from 'node:child_process';
import { findProgram, programs, type Program } from './programs.ts';

/** For `.ci/run`: installs what the checks need and a new machine lacks. */
for (const program of Object.values<Program>(programs)) {
  if (findProgram(program) !== undefined || program.isSlowToBuild === true) continue;
  process.stdout.write(`${program.name}: ${program.install}\n`);
  execFileSync('bash', ['-euo', 'pipefail', '-c', program.install], { stdio: 'inherit' });
}
