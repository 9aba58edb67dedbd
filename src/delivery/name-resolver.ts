import { lookup, Resolver } from 'node:dns';
import type { LookupAddress } from 'node:dns';
import type { Clock } from '../ops/clock.ts';

/** Called once, never from within the call. Addresses are never an empty list. */
export type Resolved = (error: Error | null, addresses: readonly LookupAddress[]) => void;

export interface NameResolver {
  resolve(hostname: string, callback: Resolved): void;
}

interface Answer {
  readonly untilMs: number;
  readonly error: Error | null;
  readonly addresses: readonly LookupAddress[];
}

const timeoutMs = 2_000;
const keepMs = 30_000;
const keepFailureMs = 5_000;
const maxNames = 20_000;
/** The name servers know no such name; the machine's own hosts file may. */
const unknownNameCodes: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA', 'ECONNREFUSED']);

/**
 * Resolves names with c-ares. `dns.lookup`, Node's default, has four threads in all: a few name servers that
 * do not answer would stop the connections to every other endpoint.
 */
export class CachingResolver implements NameResolver {
  readonly #clock: Clock;
  readonly #resolver: Resolver = new Resolver({ timeout: timeoutMs, tries: 1 });
  readonly #answers = new Map<string, Answer>();
  readonly #waiting = new Map<string, Resolved[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  resolve(hostname: string, callback: Resolved): void {
    const known = this.#answers.get(hostname);
    if (known !== undefined && known.untilMs > this.#clock.now()) {
      process.nextTick(callback, known.error, known.addresses);
      return;
    }
    const waiting = this.#waiting.get(hostname);
    if (waiting !== undefined) {
      waiting.push(callback);
      return;
    }
    this.#waiting.set(hostname, [callback]);
    if (isLocal(hostname)) this.#askSystem(hostname);
    else this.#askServers(hostname);
  }

  #askServers(hostname: string): void {
    const found: LookupAddress[] = [];
    const errors: NodeJS.ErrnoException[] = [];
    let pending = 2;
    const received =
      (family: 4 | 6) =>
      (error: NodeJS.ErrnoException | null, addresses: readonly string[] | undefined): void => {
        if (error !== null) errors.push(error);
        else for (const address of addresses ?? []) found.push({ address, family });
        pending -= 1;
        if (pending > 0) return;
        const failed = errors.find(({ code }) => !unknownNameCodes.has(code ?? ''));
        if (found.length > 0) this.#answer(hostname, null, ipv4First(found));
        else if (failed !== undefined) this.#answer(hostname, dnsError(hostname, failed), []);
        else this.#askSystem(hostname);
      };
    this.#resolver.resolve4(hostname, received(4));
    this.#resolver.resolve6(hostname, received(6));
  }

  #askSystem(hostname: string): void {
    lookup(hostname, { all: true, order: 'ipv4first' }, (error, addresses) => {
      if (error !== null) this.#answer(hostname, dnsError(hostname, error), []);
      else if (addresses.length === 0) this.#answer(hostname, dnsError(hostname), []);
      else this.#answer(hostname, null, addresses);
    });
  }

  #answer(hostname: string, error: Error | null, addresses: readonly LookupAddress[]): void {
    const untilMs = this.#clock.now() + (error === null ? keepMs : keepFailureMs);
    this.#answers.delete(hostname);
    if (this.#answers.size >= maxNames) this.#forgetOldest();
    this.#answers.set(hostname, { untilMs, error, addresses });
    const waiting = this.#waiting.get(hostname) ?? [];
    this.#waiting.delete(hostname);
    for (const callback of waiting) callback(error, addresses);
  }

  #forgetOldest(): void {
    for (const hostname of this.#answers.keys()) {
      this.#answers.delete(hostname);
      return;
    }
  }
}

/** RFC 6761: such names are the machine's own and no name server's business. */
function isLocal(hostname: string): boolean {
  return hostname === 'localhost' || hostname.endsWith('.localhost');
}

function ipv4First(addresses: LookupAddress[]): LookupAddress[] {
  return addresses.sort((a, b) => a.family - b.family);
}

function dnsError(hostname: string, cause?: NodeJS.ErrnoException): Error {
  const reason = cause?.code ?? 'no address';
  return Object.assign(new Error(`${hostname} could not be resolved (${reason})`, { cause }), {
    code: 'EDNS',
  });
}
