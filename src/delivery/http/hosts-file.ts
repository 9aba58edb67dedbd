import type { LookupAddress } from 'node:dns';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import type { Clock } from '../../ops/clock.ts';

const defaultPath =
  process.platform === 'win32' ? 'C:\\Windows\\System32\\drivers\\etc\\hosts' : '/etc/hosts';
const checkEveryMs = 5_000;

/** The names of the machine's hosts file. They take precedence over name servers, as everywhere. */
export class HostsFile {
  readonly #clock: Clock;
  readonly #path: string;
  #names: ReadonlyMap<string, readonly LookupAddress[]> = new Map();
  #checkedMs = -Infinity;
  #changedMs = -1;

  constructor(clock: Clock, path: string = defaultPath) {
    this.#clock = clock;
    this.#path = path;
  }

  /** `hostname` in lower case; undefined for a name that is not in the file. */
  find(hostname: string): readonly LookupAddress[] | undefined {
    const nowMs = this.#clock.now();
    if (Math.abs(nowMs - this.#checkedMs) >= checkEveryMs) {
      this.#checkedMs = nowMs;
      this.#read();
    }
    return this.#names.get(hostname);
  }

  /** Read synchronously: a few hundred bytes, and only when they changed. */
  #read(): void {
    try {
      const changedMs = statSync(this.#path).mtimeMs;
      if (changedMs === this.#changedMs) return;
      this.#names = parseHosts(readFileSync(this.#path, 'utf8'));
      this.#changedMs = changedMs;
    } catch {
      // A machine without the file has no names of its own.
      this.#names = new Map();
      this.#changedMs = -1;
    }
  }
}

/** hosts(5): an address and its names on each line; `#` starts a comment. Malformed lines are skipped. */
export function parseHosts(text: string): Map<string, LookupAddress[]> {
  const names = new Map<string, LookupAddress[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...aliases] = (line.split('#')[0] ?? '').trim().split(/\s+/);
    const family = isIP(address);
    if (family === 0) continue;
    for (const alias of aliases) {
      const name = alias.toLowerCase();
      const known = names.get(name);
      if (known === undefined) names.set(name, [{ address, family }]);
      else known.push({ address, family });
    }
  }
  return names;
}
