import { Resolver } from 'node:dns';
import type { LookupAddress } from 'node:dns';
import { closeSync, openSync, readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { devNull } from 'node:os';
import type { Clock, SteadyClock } from '../../ops/clock.ts';
import { dnsErrorCode, isOurWant } from './errors.ts';

/** Called once, never from within the call. The list of addresses is never empty. */
export type Resolved = (error: Error | null, addresses: readonly LookupAddress[]) => void;

export interface NameResolver {
  /** @param hostname in lower case and without a dot at its end */
  resolve(hostname: string, callback: Resolved): void;
  /**
   * The addresses of `hostname` must not be used beyond their normal time, because one of them was forbidden.
   */
  distrust(hostname: string): void;
}

export interface ResolverOptions {
  /** `address:port` of each name server; the system's by default. */
  readonly servers?: readonly string[];
  /** The system's by default. */
  readonly hostsFile?: HostsFile;
}

const families = [4, 6] as const;
type Family = (typeof families)[number];

/** A name server's answer about addresses of one family: some, or the code of a failure. */
type Reply = readonly string[] | string;

interface Found {
  readonly foundMs: number;
  readonly addresses: readonly LookupAddress[];
}

interface Answer {
  readonly untilMs: number;
  readonly error: Error | null;
  readonly addresses: readonly LookupAddress[];
  /** Addresses that may be used once the answer has expired. */
  readonly found: ReadonlyMap<Family, Found>;
}

/** Two tries, so that one lost datagram fails no attempt. */
const timeoutMs = 1_000;
const tries = 2;
/**
 * Independent of the TTL of the records: a shorter time would let an endpoint cause a look-up for every
 * connection.
 */
const keepMs = 30_000;
const keepFailureMs = 5_000;
/** While name servers fail, their last answer is better than none (RFC 8767). */
const believeMs = 3_600_000;
const maxNames = 20_000;
/**
 * An answer may hold 4,000 addresses, which would fill the memory if every name of a hostile zone had as
 * many.
 */
const maxAddresses = 64;

/**
 * Resolves names with c-ares. `dns.lookup`, Node's default, has four threads in all, which compression
 * shares: a few name servers that do not answer would stop connections to every other endpoint. Unlike it,
 * this appends no search domains, so a name means the same wherever the worker runs.
 */
export class CachingResolver implements NameResolver {
  readonly #clock: SteadyClock;
  readonly #hosts: HostsFile;
  readonly #servers: readonly string[] | undefined;
  #resolver: Resolver;
  #resolverSinceMs: number;
  /** A name server of `#resolver` did not answer. */
  #isSilent = false;
  readonly #answers = new Map<string, Answer>();
  readonly #waiting = new Map<string, Resolved[]>();

  constructor(clock: SteadyClock, { servers, hostsFile }: ResolverOptions = {}) {
    this.#clock = clock;
    this.#hosts = hostsFile ?? new HostsFile(clock);
    this.#servers = servers;
    this.#resolver = this.#newResolver();
    this.#resolverSinceMs = clock.steadyNow();
  }

  resolve(hostname: string, callback: Resolved): void {
    const own = this.#hosts.find(hostname);
    if (own !== undefined) {
      process.nextTick(callback, null, own);
      return;
    }
    const known = this.#answers.get(hostname);
    if (known !== undefined && known.untilMs > this.#clock.steadyNow()) {
      process.nextTick(callback, known.error, known.addresses);
      return;
    }
    const waiting = this.#waiting.get(hostname);
    if (waiting !== undefined) {
      waiting.push(callback);
      return;
    }
    this.#waiting.set(hostname, [callback]);
    this.#ask(hostname);
  }

  distrust(hostname: string): void {
    const known = this.#answers.get(hostname);
    if (known !== undefined) this.#answers.set(hostname, { ...known, found: new Map() });
  }

  #ask(hostname: string): void {
    const replies = new Map<Family, Reply>();
    const received =
      (family: Family) =>
      (error: NodeJS.ErrnoException | null, addresses: readonly string[] | undefined): void => {
        const reply = error === null ? (addresses ?? []) : codeOf(error);
        if (reply === 'ETIMEOUT' || reply === 'ECONNREFUSED') this.#isSilent = true;
        replies.set(family, reply);
        if (replies.size < families.length) return;
        const former = this.#answers.get(hostname);
        this.#answer(hostname, answerOf(hostname, replies, former, this.#clock.steadyNow()));
      };
    const resolver = this.#presentResolver();
    resolver.resolve4(hostname, received(4));
    resolver.resolve6(hostname, received(6));
  }

  /** A resolver asks the name servers that the machine had when it was made, and others may have taken their place. */
  #presentResolver(): Resolver {
    const nowMs = this.#clock.steadyNow();
    if (this.#isSilent && nowMs - this.#resolverSinceMs >= keepFailureMs) {
      this.#isSilent = false;
      this.#resolver = this.#newResolver();
      this.#resolverSinceMs = nowMs;
    }
    return this.#resolver;
  }

  #newResolver(): Resolver {
    const resolver = new Resolver({ timeout: timeoutMs, tries, maxTimeout: timeoutMs });
    if (this.#servers !== undefined) resolver.setServers(this.#servers);
    return resolver;
  }

  #answer(hostname: string, answer: Answer): void {
    this.#answers.delete(hostname);
    if (this.#answers.size >= maxNames) this.#forgetOldest();
    this.#answers.set(hostname, answer);
    const waiting = this.#waiting.get(hostname) ?? [];
    this.#waiting.delete(hostname);
    for (const callback of waiting) callback(answer.error, answer.addresses);
  }

  #forgetOldest(): void {
    for (const hostname of this.#answers.keys()) {
      this.#answers.delete(hostname);
      return;
    }
  }
}

function answerOf(
  hostname: string,
  replies: ReadonlyMap<Family, Reply>,
  former: Answer | undefined,
  nowMs: number,
): Answer {
  const failures = [...replies.values()].filter((reply) => typeof reply === 'string');
  const isNoName = failures.includes('ENOTFOUND');
  const found = new Map<Family, Found>();
  for (const [family, reply] of replies) {
    if (typeof reply !== 'string') {
      const addresses = reply.map((address) => ({ address, family }));
      found.set(family, { foundMs: nowMs, addresses });
      continue;
    }
    const before = former?.found.get(family);
    const isBelieved = before !== undefined && nowMs - before.foundMs < believeMs;
    if (isBelieved && !isNoName && reply !== 'ENODATA') found.set(family, before);
  }
  const addresses = families.flatMap((family) => found.get(family)?.addresses ?? []);
  if (addresses.length > 0 && addresses.length <= maxAddresses)
    return { untilMs: nowMs + keepMs, error: null, addresses, found };
  const reason = addresses.length > 0 ? `${addresses.length} addresses` : likeliest(failures);
  // A local shortage may be over for the next connection, and a new try costs no name server anything.
  const untilMs = nowMs + (isOurWant(reason) ? 0 : keepFailureMs);
  return { untilMs, error: dnsError(hostname, reason), addresses: [], found: new Map() };
}

/**
 * The code of the local shortage, if that is why c-ares could not send: it reports a refused connection to
 * the name server for every reason.
 */
function codeOf({ code, message }: NodeJS.ErrnoException): string {
  if (code !== 'ECONNREFUSED') return code ?? message;
  try {
    closeSync(openSync(devNull, 'r'));
    return code;
  } catch (error) {
    const { code: shortage = '' } = error as NodeJS.ErrnoException;
    return isOurWant(shortage) ? shortage : code;
  }
}

/** "No such record" for one address family says less than what happened for the other one. */
function likeliest(failures: readonly string[]): string {
  const ours = failures.find((code) => isOurWant(code));
  return ours ?? failures.find((code) => code !== 'ENODATA') ?? failures[0] ?? 'no address';
}

function dnsError(hostname: string, reason: string): Error {
  return Object.assign(new Error(`${hostname} could not be resolved (${reason})`), {
    code: isOurWant(reason) ? reason : dnsErrorCode,
  });
}

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

  /**
   * @param hostname in lower case
   * @returns undefined for a name that is not in the file
   */
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
