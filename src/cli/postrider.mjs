#!/usr/bin/env node
// The program `postrider`, in a clone and in the package, with whatever Node.js the system has. Where that is too old,
// another one starts here again: the one that `npm ci` brought into the clone, or one that npm fetches into the
// user's cache.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import module from 'node:module';
import { constants, homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The release that the tests run on, as in the devDependencies. */
const testedNode = '24.21.0';
const [wantedMajor] = testedNode.split('.').map(Number);
const cache = join(homedir(), '.cache', 'postrider');

/** The package has it compiled, because Node.js strips no types below `node_modules`. */
const isPackage = existsSync(new URL('main.js', import.meta.url));

if (Number(process.versions.node.split('.')[0]) >= wantedMajor) {
  // Not where Node.js would have it, in a folder that all users of the machine may write to.
  module.enableCompileCache(join(cache, 'compiled'));
  await import(isPackage ? './main.js' : './main.ts').catch((error) => {
    if (error.code !== 'ERR_MODULE_NOT_FOUND' || isPackage) throw error;
    sayMissing();
  });
} else if (isPackage) startWith(cachedNode());
else startWith(fileURLToPath(new URL('../../node_modules/node/bin/node', import.meta.url)));

function startWith(node) {
  if (node === undefined) return;
  const here = fileURLToPath(import.meta.url);
  const child = spawn(node, [here, ...process.argv.slice(2)], { stdio: 'inherit' });
  child.on('error', isPackage ? sayUnusable : sayMissing);
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
  });
  // A terminal signals both processes; a supervisor only this one.
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  process.on('SIGINT', () => undefined);
}

/** Its path; undefined where it cannot be fetched, which has been said. */
function cachedNode() {
  const name = `node-${process.platform}-${process.arch}`;
  const folder = join(cache, `node-${testedNode}`);
  const path = join(folder, 'node_modules', name, 'bin', 'node');
  if (existsSync(path)) return path;
  process.stderr.write(
    `postrider: this is Node.js ${process.versions.node}; fetching ${testedNode} into ${cache}, once\n`,
  );
  try {
    mkdirSync(cache, { recursive: true });
    const unfinished = mkdtempSync(join(cache, 'fetch-'));
    try {
      const options = ['--prefix', unfinished, '--global=false', '--ignore-scripts'];
      const quiet = ['--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error'];
      execFileSync('npm', ['install', `${name}@${testedNode}`, ...options, ...quiet], {
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      renameSync(unfinished, folder);
    } catch (error) {
      // Another process may have been faster; its folder is as good as this one.
      if (!existsSync(path)) throw error;
    } finally {
      rmSync(unfinished, { recursive: true, force: true });
    }
    return path;
  } catch (error) {
    sayUnusable(error);
    return undefined;
  }
}

function sayMissing() {
  process.stderr.write('postrider: packages are missing; run npm ci first\n');
  process.exitCode = 1;
}

function sayUnusable(error) {
  const [reason] = String(error.stderr ?? error.message)
    .trim()
    .split('\n');
  process.stderr.write(
    `postrider: no Node.js ${testedNode} for this machine (${reason}); install Node.js ${wantedMajor} or newer\n`,
  );
  process.exitCode = 1;
}
