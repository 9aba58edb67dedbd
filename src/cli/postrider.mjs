#!/usr/bin/env node
// In a clone, `npx postrider` starts here with whatever Node the system has. The sources are TypeScript
// and need the one that `npm ci` brought.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

const wantedMajor = 24;

if (Number(process.versions.node.split('.')[0]) >= wantedMajor) {
  await import('./main.ts');
} else {
  const node = fileURLToPath(new URL('../../node_modules/node/bin/node', import.meta.url));
  const main = fileURLToPath(new URL('./main.ts', import.meta.url));
  const child = spawn(node, [main, ...process.argv.slice(2)], { stdio: 'inherit' });
  child.on('error', () => {
    process.stderr.write(`postrider: Node.js ${wantedMajor} is missing; run npm ci first\n`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
  });
  // A terminal signals both processes; a supervisor only this one.
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  process.on('SIGINT', () => undefined);
}
