import { parseDuration } from '../duration.ts';
import type { Destination, FormerSecret, NoticeHook } from './resource.ts';
import { signingSecretProblem } from './signing-secret.ts';

/** `secretOverlap` of a destination without the field. */
const defaultOverlap = '24h';
/** Each signature takes CPU time on every attempt, and room in the header. */
const mostFormerSecrets = 3;

export interface OverlapOptions {
  readonly nowMs: number;
  /** Former secrets sign nothing any more. */
  readonly endOverlap: boolean;
}

export interface Overlap {
  /** Newest first; never empty. */
  readonly formerSecrets?: readonly FormerSecret[];
  /** Former secrets that would sign still are dropped, as was asked for. */
  readonly isEnded?: boolean;
  /** The sentence for a person about a changed secret. */
  readonly note?: string;
}

/** Decides which former secrets sign beside the present one, after a version of a destination replaces another. */
export function overlapAfter(
  before: Destination | NoticeHook,
  after: Destination | NoticeHook,
  { nowMs, endOverlap }: OverlapOptions,
): Overlap {
  if (after.sharedSecret === undefined) return {};
  const former = before.sharedSecret;
  const isChanged = former !== undefined && former !== after.sharedSecret;
  const signature = after.kind === 'Destination' ? after.signature : undefined;
  if (after.kind === 'NoticeHook' || signature === undefined)
    return isChanged
      ? { note: 'X-Signature has room for one secret: the new one counts at once' }
      : {};

  const { formerSecrets = [] } = before.kind === 'Destination' ? before : {};
  const inForce = formerSecrets.filter(({ untilMs }) => nowMs < untilMs);
  if (endOverlap) return { isEnded: inForce.length > 0 };
  // A secret that comes back is the present one again.
  const others = inForce.filter(({ secret }) => ![after.sharedSecret, former].includes(secret));
  if (!isChanged) return withFormer(others);
  const overlapMs = parseDuration(after.secretOverlap ?? defaultOverlap) ?? 0;
  // What is replaced so may have leaked, and so may what was replaced just before.
  if (overlapMs === 0) return { isEnded: others.length > 0 };
  if (signingSecretProblem(former) !== undefined) {
    const note = 'the former secret cannot sign by the standard: the new one counts at once';
    return { ...withFormer(others), note };
  }
  const untilMs = nowMs + overlapMs;
  const all = [Object.freeze({ secret: former, untilMs }), ...others];
  const kept = all.slice(0, mostFormerSecrets);
  const note = [
    `the former secret signs as well until ${new Date(untilMs).toISOString()}`,
    ...(signature === 'both' ? ['X-Signature is made with the new one alone'] : []),
    ...(kept.length < all.length
      ? [`at most ${mostFormerSecrets} former secrets sign: the oldest one ends now`]
      : []),
  ];
  return { ...withFormer(kept), note: note.join('; ') };
}

/** The end of the last former secret, ISO 8601; undefined if only the present one signs. */
export function overlapEnd(
  { formerSecrets = [] }: Pick<Destination, 'formerSecrets'>,
  nowMs: number,
): string | undefined {
  const lastMs = Math.max(nowMs, ...formerSecrets.map(({ untilMs }) => untilMs));
  return lastMs > nowMs ? new Date(lastMs).toISOString() : undefined;
}

function withFormer(secrets: readonly FormerSecret[]): Pick<Overlap, 'formerSecrets'> {
  return secrets.length === 0 ? {} : { formerSecrets: Object.freeze(secrets) };
}
