import { Resolver } from 'node:dns';
import type { LookupAddress } from 'node:dns';
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import type { Clock } from '../../ops/clock.ts';
import { dnsErrorCode, isOurWant } from '../outcome.ts';
import { HostsFile } from './hosts-file.ts';

/** Called once, never from within the call. Addresses are never an empty list. */
export type Resolved = (error: Error | null, addresses: readonly LookupAddress[]) => void;

export interface NameResolver {
  /** `hostname` in lower case and without a dot at its end. */
  resolve(hostname: string, callback: Resolved): void;
  /** What `hostname` resolved to is not to be used for longer than any answer: it led where nobody may go. */
  distrust(hostname: string): void;
}

export interface ResolverOptions {
  /** `address:port` of each name server; the system's by default. */
  readonly servers?: readonly string[];
  /** The system's by default. */
  readonly hostsFile?: HostsFile;
}

interface Answer {
  readonly untilMs: number;
  /** Its addresses; never, where there are none that may be believed later. */
  readonly foundMs: number;
  readonly error: Error | null;
  readonly addresses: readonly LookupAddress[];
}

/** Asked twice, so that one lost datagram fails no attempt. */
const timeoutMs = 1_000;
const tries = 2;
/** Whatever the records say: a shorter time would let any endpoint make us ask for every connection. */
const keepMs = 30_000;
const keepFailureMs = 5_000;
/** Where name servers fail, what they last said is better than nothing (RFC 8767). */
const believeMs = 3_600_000;
const maxNames = 20_000;
/** An answer may hold 4,000; kept for every name of a hostile zone they would fill the memory. */
const maxAddresses = 64;

/**
 * Resolves names with c-ares. `dns.lookup`, Node's default, has four threads in all, which compression
 * shares: a few name servers that do not answer would stop the connections to every other endpoint. Unlike
 * it, this appends no search domains: a name means the same wherever the worker runs.
 */
export class CachingResolver implements NameResolver {
  readonly #clock: Clock;
  readonly #hosts: HostsFile;
  readonly #resolver: Resolver = new Resolver({ timeout: timeoutMs, tries, maxTimeout: timeoutMs });
  readonly #answers = new Map<string, Answer>();
  readonly #waiting = new Map<string, Resolved[]>();

  constructor(clock: Clock, { servers, hostsFile }: ResolverOptions = {}) {
    this.#clock = clock;
    this.#hosts = hostsFile ?? new HostsFile(clock);
    if (servers !== undefined) this.#resolver.setServers(servers);
  }

  resolve(hostname: string, callback: Resolved): void {
    const own = this.#hosts.find(hostname);
    if (own !== undefined) {
      process.nextTick(callback, null, own);
      return;
    }
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
    this.#ask(hostname);
  }

  distrust(hostname: string): void {
    const known = this.#answers.get(hostname);
    if (known !== undefined) this.#answers.set(hostname, { ...known, foundMs: -Infinity });
  }

  #ask(hostname: string): void {
    const found: LookupAddress[] = [];
    const failures: string[] = [];
    let pending = 2;
    const received =
      (family: 4 | 6) =>
      (error: NodeJS.ErrnoException | null, addresses: readonly string[] | undefined): void => {
        if (error !== null) failures.push(error.code ?? error.message);
        else for (const address of addresses ?? []) found.push({ address, family });
        pending -= 1;
        if (pending > 0) return;
        if (failures.includes('ECONNREFUSED')) failures.push(...missingDescriptor());
        const former = this.#answers.get(hostname);
        this.#answer(hostname, answerOf(hostname, found, failures, former, this.#clock.now()));
      };
    this.#resolver.resolve4(hostname, received(4));
    this.#resolver.resolve6(hostname, received(6));
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
  found: LookupAddress[],
  failures: readonly string[],
  former: Answer | undefined,
  nowMs: number,
): Answer {
  if (found.length > 0 && found.length <= maxAddresses) {
    const untilMs = nowMs + keepMs;
    return { untilMs, foundMs: nowMs, error: null, addresses: ipv4First(found) };
  }
  if (former !== undefined && nowMs - former.foundMs < believeMs && isUncertain(failures))
    return { ...former, untilMs: nowMs + keepMs };
  const reason = found.length > 0 ? `${found.length} addresses` : likeliest(failures);
  // What we lack may be there again for the next connection, and costs no name server anything.
  const untilMs = nowMs + (isOurWant(reason) ? 0 : keepFailureMs);
  return { untilMs, foundMs: -Infinity, error: dnsError(hostname, reason), addresses: [] };
}

function ipv4First(addresses: LookupAddress[]): LookupAddress[] {
  return addresses.sort((a, b) => a.family - b.family);
}

/** Nobody said that the name is gone, or has no addresses any more. */
function isUncertain(failures: readonly string[]): boolean {
  return !failures.includes('ENOTFOUND') && failures.some((code) => code !== 'ENODATA');
}

/**
 * The code of what we lack for a socket, if that is why c-ares could not ask: it says that the name server
 * refused the connection, whatever kept it from having one.
 */
function missingDescriptor(): string[] {
  try {
    closeSync(openSync(devNull, 'r'));
    return [];
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    return isOurWant(code) ? [code] : [];
  }
}

/** "No such record" of one kind says less than what happened to the other kind. */
function likeliest(failures: readonly string[]): string {
  const ours = failures.find((code) => isOurWant(code));
  return ours ?? failures.find((code) => code !== 'ENODATA') ?? failures[0] ?? 'no address';
}

function dnsError(hostname: string, reason: string): Error {
  return Object.assign(new Error(`${hostname} could not be resolved (${reason})`), {
    code: isOurWant(reason) ? reason : dnsErrorCode,
  });
}
