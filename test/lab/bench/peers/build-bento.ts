import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const source = fileURLToPath(new URL('bento', import.meta.url));
const builtFrom = ['main.go', 'go.mod', 'go.sum'];

export interface Bento {
  readonly path: string;
  /** Its version, and Go's. */
  readonly version: string;
}

/**
 * Bento from its Go modules: built at the first call, which takes minutes, and kept in the user's cache.
 * @param go the command
 * @throws Error that says what to install if there is no Go, or why it cannot be built
 */
export async function buildBento(log: (line: string) => void, go: string = 'go'): Promise<Bento> {
  const { stdout: goVersion } = await run(go, ['version']).catch((cause: unknown) => {
    throw new Error(
      'Go is missing: this bench builds Bento from its Go modules. Install Go 1.26 or newer (https://go.dev/dl), so that `go version` works, and run it again',
      { cause },
    );
  });
  const texts = builtFrom.map((name) => readFileSync(join(source, name), 'utf8'));
  const hash = createHash('sha256').update(texts.join()).digest('hex').slice(0, 12);
  const folder = join(homedir(), '.cache', 'postrider', `bento-${hash}`);
  const path = join(folder, 'bento');
  if (!existsSync(path)) {
    log('building Bento from its Go modules: once, for some minutes');
    await mkdir(folder, { recursive: true });
    const unfinished = `${path}.${process.pid}`;
    const options = { cwd: source, maxBuffer: 2 ** 26 };
    await run(go, ['build', '-o', unfinished, '.'], options).catch((cause: unknown) => {
      const { stderr = '' } = cause as { readonly stderr?: string };
      throw new Error(`Bento cannot be built:\n${stderr.trim()}`, { cause });
    });
    await rename(unfinished, path);
  }
  const [, version = 'unknown'] = /warpstreamlabs\/bento (v\S+)/.exec(texts.join()) ?? [];
  return { path, version: `${version}, ${goVersion.trim().split(' ')[2] ?? 'go'}` };
}
