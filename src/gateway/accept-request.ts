import type { IncomingHttpHeaders } from 'node:http';
import type { CallType } from '../event/call.ts';
import type { Clock } from '../ops/clock.ts';
import type { ByteBudget, Lease } from './byte-budget.ts';
import type { GatewayEvents } from './events.ts';
import { heldBytes, type IngestWriter } from './ingest-writer.ts';
import type { KnownKeys } from './known-keys.ts';
import { prepareCalls, type IngestTopics, type Prepared } from './prepare-call.ts';
import type { RateLimits } from './rate-limits.ts';
import { overloaded, unpackBody } from './read-body.ts';
import { readRequest } from './read-request.ts';
import type { Refusal } from './refusal.ts';
import { basicWriteKey } from './write-key.ts';

export interface AcceptDeps {
  readonly keys: KnownKeys;
  readonly writer: Pick<IngestWriter, 'isAvailable' | 'takesWrites' | 'write'>;
  readonly budget: ByteBudget;
  /** Undefined: no limits. */
  readonly rateLimits: RateLimits | undefined;
  readonly topics: IngestTopics;
  readonly clock: Clock;
  readonly events: GatewayEvents;
}

export interface TrackingRequest {
  readonly headers: IncomingHttpHeaders;
  /** Reads the body. What the lease has no room for is not held. */
  readonly read: (lease: Lease) => Promise<Buffer | Refusal>;
  /** The type in the path; undefined for a batch. */
  readonly type: CallType | undefined;
  readonly clientIp: () => string | undefined;
}

/** The holder of the bytes of requests without a known write key. Keys are never empty. */
const strangers = '';

/**
 * Undefined once Kafka has acknowledged every call of the request, otherwise why the request is not accepted.
 */
export async function acceptRequest(
  deps: AcceptDeps,
  request: TrackingRequest,
): Promise<Refusal | undefined> {
  const { budget, keys } = deps;
  const headerKey = basicWriteKey(request.headers.authorization);
  const lease = budget.lease(keys.find(headerKey) ?? strangers);
  try {
    return await accept(deps, request, headerKey, lease);
  } finally {
    lease.release();
  }
}

async function accept(
  deps: AcceptDeps,
  request: TrackingRequest,
  headerKey: string | undefined,
  lease: Lease,
): Promise<Refusal | undefined> {
  const { writer, rateLimits, events, keys } = deps;
  if (!writer.takesWrites) return kafkaUnavailable;
  const received = { headerKey, receivedMs: deps.clock.now() };
  const calls = await receive(deps, request, received, lease);
  if ('code' in calls) return calls;

  const { count, writeKey, rejections, oddities } = calls;
  const notWritten = await write(writer, calls.records, lease);
  if (notWritten !== undefined) {
    rateLimits?.giveBack(writeKey, count);
    return notWritten;
  }
  events.accepted(count, rejections, received.receivedMs);
  if (oddities.length > 0) events.odd(oddities, keys.sourceOf(writeKey));
  return undefined;
}

interface Received {
  readonly headerKey: string | undefined;
  /** Epoch milliseconds. */
  readonly receivedMs: number;
}

interface ReceivedCalls extends Prepared {
  readonly count: number;
  readonly writeKey: string;
}

/** Of the given keys, none is known. */
interface UnknownKeys {
  readonly given: readonly (string | undefined)[];
}

async function receive(
  deps: AcceptDeps,
  request: TrackingRequest,
  received: Received,
  lease: Lease,
): Promise<ReceivedCalls | Refusal> {
  const packed = await request.read(lease);
  if (!Buffer.isBuffer(packed)) return packed;
  const body = unpackBody(packed, request.headers['content-encoding']);
  if (!Buffer.isBuffer(body)) return body;
  if (body !== packed && !lease.grow(body.length)) return overloaded;
  for (;;) {
    const calls = readCalls(deps, body, { ...request, ...received }, lease);
    if (!('given' in calls)) return calls;
    const found = await deps.keys.findCurrent(...calls.given);
    if (typeof found !== 'string') return found;
  }
}

/**
 * What `JSON.parse` makes takes many times the memory of the body and of the records, so that nothing may wait that
 * holds it: a request whose key is unknown is parsed again later.
 */
function readCalls(
  { keys, rateLimits, topics }: AcceptDeps,
  body: Buffer,
  { type, clientIp, headerKey, receivedMs }: TrackingRequest & Received,
  lease: Lease,
): ReceivedCalls | Refusal | UnknownKeys {
  const { submission, refusal } = readRequest(body, type);
  if (refusal !== undefined) return refusal;
  const given = [headerKey, submission.writeKey];
  const writeKey = keys.find(...given);
  if (writeKey === undefined) return { given };
  if (!lease.moveTo(writeKey)) return overloaded;
  const count = submission.calls.length;
  const waitS = rateLimits?.take(writeKey, count);
  if (waitS !== undefined) return rateLimited(waitS);
  const prepared = prepareCalls(submission, { receivedMs, writeKey, clientIp }, topics);
  return { ...prepared, count, writeKey };
}

/** Undefined once Kafka has acknowledged all. */
async function write(
  writer: AcceptDeps['writer'],
  records: Prepared['records'],
  lease: Lease,
): Promise<Refusal | undefined> {
  if (!lease.grow(heldBytes(records))) return overloaded;
  if (await writer.write(records)) return undefined;
  return writer.isAvailable ? partitionUnavailable : kafkaUnavailable;
}

const kafkaUnavailable: Refusal = {
  code: 'kafka-unavailable',
  message: 'Kafka has not acknowledged the calls; send them again with the same message ids.',
  retryAfterS: 2,
};

/**
 * Without a time to wait, which clients apply to all that they send: the gateway takes calls for other partitions. Each
 * of these answers comes after seconds, so repetitions are slow in any case.
 */
const partitionUnavailable: Refusal = {
  code: 'kafka-unavailable',
  message:
    'Kafka has not acknowledged some of the calls; send all again with the same message ids.',
};

function rateLimited(waitS: number): Refusal {
  return {
    code: 'rate-limited',
    message: 'This write key has sent more calls than its limit allows; send this again later.',
    retryAfterS: Math.ceil(waitS),
  };
}
