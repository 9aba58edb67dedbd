#!/usr/bin/env node
// In a clone, `npx postrider` starts here with whatever Node the system has. The sources are TypeScript
// and need the one that `npm ci` brought, which starts here again.
import { spawn } from 'node:child_process';
import module from 'node:module';
import { constants, homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const wantedMajor = 24;

if (Number(process.versions.node.split('.')[0]) >= wantedMajor) {
  // Not where Node.js would have it, in a folder that all users of the machine may write to.
  module.enableCompileCache(join(homedir(), '.cache', 'postrider', 'compiled'));
  await import('./main.ts').catch((error) => {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    sayMissing();
  });
} else {
  const node = fileURLToPath(new URL('../../node_modules/node/bin/node', import.meta.url));
  const here = fileURLToPath(import.meta.url);
  const child = spawn(node, [here, ...process.argv.slice(2)], { stdio: 'inherit' });
  child.on('error', sayMissing);
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
  });
  // A terminal signals both processes; a supervisor only this one.
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  process.on('SIGINT', () => undefined);
}

function sayMissing() {
  process.stderr.write('postrider: packages are missing; run npm ci first\n');
  process.exitCode = 1;
}
