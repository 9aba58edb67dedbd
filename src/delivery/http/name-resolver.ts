import { Resolver } from 'node:dns';
import type { LookupAddress } from 'node:dns';
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import type { SteadyClock } from '../../ops/clock.ts';
import { dnsErrorCode, isOurWant } from '../outcome.ts';
import { HostsFile } from './hosts-file.ts';

/** Called once, never from within the call. The list of addresses is never empty. */
export type Resolved = (error: Error | null, addresses: readonly LookupAddress[]) => void;

export interface NameResolver {
  /** `hostname` in lower case and without a dot at its end. */
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

interface Answer {
  readonly untilMs: number;
  /** When its addresses were found; never, if there are none that may be used after they have expired. */
  readonly foundMs: number;
  readonly error: Error | null;
  readonly addresses: readonly LookupAddress[];
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
  readonly #resolver: Resolver = new Resolver({ timeout: timeoutMs, tries, maxTimeout: timeoutMs });
  readonly #answers = new Map<string, Answer>();
  readonly #waiting = new Map<string, Resolved[]>();

  constructor(clock: SteadyClock, { servers, hostsFile }: ResolverOptions = {}) {
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
        this.#answer(
          hostname,
          answerOf(hostname, found, failures, former, this.#clock.steadyNow()),
        );
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
  // A local shortage may be over for the next connection, and a new try costs no name server anything.
  const untilMs = nowMs + (isOurWant(reason) ? 0 : keepFailureMs);
  return { untilMs, foundMs: -Infinity, error: dnsError(hostname, reason), addresses: [] };
}

function ipv4First(addresses: LookupAddress[]): LookupAddress[] {
  return addresses.sort((a, b) => a.family - b.family);
}

/** True unless a name server answered that the name does not exist, or has no addresses. */
function isUncertain(failures: readonly string[]): boolean {
  return !failures.includes('ENOTFOUND') && failures.some((code) => code !== 'ENODATA');
}

/**
 * The code of the local shortage, if that is why c-ares could not send: it reports a refused connection to
 * the name server for every reason.
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
