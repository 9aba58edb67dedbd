import type { SteadyClock } from '../../ops/clock.ts';

/** The time in which all certificates that the server showed are valid, in milliseconds since the epoch. */
export interface Validity {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** A full handshake, in which the server's certificate was verified. */
export interface Verification {
  /** The server's address. */
  readonly address: string;
  /** The time of the handshake, by the steady clock. */
  readonly atMs: number;
  readonly validity: Validity;
}

interface KeptSession {
  readonly verification: Verification;
  readonly session: Buffer;
}

/**
 * A resumed session shows no certificate, so this is how long a certificate that was replaced may still
 * count. It is about as long as a kept connection, which shows none either.
 */
const longestMs = 600_000;
/** A session has 2 KB with a certificate of RSA-2048 and a ticket; these sessions have 16 MB at most. */
const maxSessions = 2_000;
const maxSessionBytes = 8_192;
/** A server that has declined so many in a row gets none for a while: each costs both sides a tenth of a handshake. */
const mostDeclined = 3;

/**
 * TLS sessions by origin, the last one of each. A session is given out only for the address where it was
 * made, while its certificates are valid, and no longer than ten minutes after they were verified. Sessions
 * that come from a resumed one count from the same verification. Whoever resumes a session has its keys,
 * which only the verified server got.
 */
export class TlsSessions {
  readonly #clock: SteadyClock;
  /** The longest unused one first. */
  readonly #kept = new Map<string, KeptSession>();
  /** The sessions that an origin declined in a row, and the time of the last one. */
  readonly #declined = new Map<string, { readonly count: number; readonly atMs: number }>();

  constructor(clock: SteadyClock) {
    this.#clock = clock;
  }

  /** @returns false for a server that has declined so many that another offer would be in vain */
  areWorthwhile(origin: string): boolean {
    const declined = this.#declined.get(origin);
    if (declined === undefined || declined.count < mostDeclined) return true;
    if (this.#clock.steadyNow() - declined.atMs < longestMs) return false;
    this.#declined.delete(origin);
    return true;
  }

  /** @param isResumed whether the server went on with the session that it was offered */
  answered(origin: string, isResumed: boolean): void {
    const count = (this.#declined.get(origin)?.count ?? 0) + 1;
    this.#declined.delete(origin);
    if (isResumed) return;
    this.#declined.set(origin, { count, atMs: this.#clock.steadyNow() });
    dropFirstBeyond(this.#declined, maxSessions);
    if (count === mostDeclined) this.forget(origin);
  }

  /** The session to resume, if that is safe. Otherwise what is kept for the origin is forgotten. */
  find(origin: string, address: string): KeptSession | undefined {
    const kept = this.#kept.get(origin);
    if (kept === undefined) return undefined;
    this.#kept.delete(origin);
    if (!this.#isSafe(kept.verification, address)) return undefined;
    this.#kept.set(origin, kept);
    return kept;
  }

  keep(origin: string, kept: KeptSession): void {
    this.#kept.delete(origin);
    if (kept.session.length > maxSessionBytes) return;
    this.#kept.set(origin, kept);
    dropFirstBeyond(this.#kept, maxSessions);
  }

  forget(origin: string): void {
    this.#kept.delete(origin);
  }

  #isSafe(verification: Verification, address: string): boolean {
    const { atMs, validity } = verification;
    const nowMs = this.#clock.now();
    return (
      verification.address === address &&
      this.#clock.steadyNow() - atMs < longestMs &&
      validity.fromMs <= nowMs &&
      nowMs < validity.untilMs
    );
  }
}

function dropFirstBeyond(map: Map<string, unknown>, most: number): void {
  if (map.size <= most) return;
  const [first] = map.keys();
  if (first !== undefined) map.delete(first);
}
