import type { IncomingHttpHeaders } from 'node:http';
import type { CallType } from '../event/call.ts';
import { textFieldIn } from '../event/text-field.ts';
import { writeKeyField } from '../event/headers.ts';
import type { SteadyClock } from '../ops/clock.ts';
import type { ByteBudget, Lease } from './byte-budget.ts';
import type { GatewayEvents } from './events.ts';
import { heldBytes, type IngestWriter } from './ingest-writer.ts';
import type { KnownKeys } from './known-keys.ts';
import {
  prepareCalls,
  type IngestTopics,
  type Prepared,
  type RejectedCall,
} from './prepare-call.ts';
import { callsWorth, type RateLimits } from './rate-limits.ts';
import { isPacked, overloaded, unpackBody } from './read-body.ts';
import { readRequest } from './read-request.ts';
import type { Refusal } from './refusal.ts';
import type { StrangersTime } from './strangers-time.ts';

export interface AcceptDeps {
  readonly keys: KnownKeys;
  readonly writer: Pick<IngestWriter, 'isAvailable' | 'takesWrites' | 'write'>;
  readonly budget: ByteBudget;
  /** Undefined: no limits. */
  readonly rateLimits: RateLimits | undefined;
  readonly strangersTime: StrangersTime;
  readonly topics: IngestTopics;
  readonly clock: SteadyClock;
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

/** People who try things out are told what is wrong with their JSON, although it shows no key. */
const triedOutBytes = 4 * 1024;

export interface Accepted {
  /** Calls that went to `ingest.rejected`. */
  readonly rejections: readonly RejectedCall[];
}

/** Accepted once Kafka has acknowledged every call of the request, otherwise why the request is not. */
export async function acceptRequest(
  deps: AcceptDeps,
  request: TrackingRequest,
): Promise<Refusal | Accepted> {
  const { writer, rateLimits, events, keys, budget, clock } = deps;
  if (!writer.takesWrites) return kafkaUnavailable;
  const receivedMs = clock.now();
  const lease = budget.lease(strangers);
  try {
    const calls = await receive(deps, request, receivedMs, lease);
    if ('code' in calls) return calls;
    const { count, worth, writeKey, rejections, oddities } = calls;
    const notWritten = await write(writer, calls.records, lease);
    if (notWritten !== undefined) {
      rateLimits?.giveBack(writeKey, worth);
      return notWritten;
    }
    events.accepted(count, rejections, receivedMs);
    if (oddities.length > 0) events.odd(oddities, keys.sourceOf(writeKey));
    return { rejections };
  } finally {
    lease.release();
  }
}

interface ReceivedCalls extends Prepared {
  readonly count: number;
  /** The calls that the request counts as, for the rate limit. */
  readonly worth: number;
  readonly writeKey: string;
}

/** A key in the header is judged before the body is read: nobody is to be charged for what strangers send. */
async function receive(
  deps: AcceptDeps,
  request: TrackingRequest,
  receivedMs: number,
  lease: Lease,
): Promise<ReceivedCalls | Refusal> {
  const headerKey = basicWriteKey(request.headers.authorization);
  if (headerKey !== undefined) {
    const known = await knownKey(deps.keys, headerKey);
    if (typeof known !== 'string') return known;
    lease.moveTo(known);
    const body = await readBody(request, lease);
    return Buffer.isBuffer(body) ? readCalls(deps, body, request, receivedMs, known) : body;
  }
  const searched = await searchBody(deps, request, lease);
  if ('code' in searched) return searched;
  const { body, bodyKey } = searched;
  const known = await knownKey(deps.keys, bodyKey);
  if (typeof known !== 'string') return known;
  if (!lease.moveTo(known)) return overloaded;
  return readCalls(deps, body, request, receivedMs, known);
}

async function knownKey(keys: KnownKeys, given: string | undefined): Promise<string | Refusal> {
  return keys.find(given) ?? keys.findCurrent(given);
}

async function readBody(request: TrackingRequest, lease: Lease): Promise<Buffer | Refusal> {
  const packed = await request.read(lease);
  return Buffer.isBuffer(packed) ? unpack(packed, request, lease) : packed;
}

function unpack(packed: Buffer, { headers }: TrackingRequest, lease: Lease): Buffer | Refusal {
  const body = unpackBody(packed, headers['content-encoding']);
  if (!Buffer.isBuffer(body) || body === packed) return body;
  return lease.grow(body.length) ? body : overloaded;
}

/** The body with the key in it, which need not be known. */
async function searchBody(
  { keys, strangersTime, clock }: AcceptDeps,
  request: TrackingRequest,
  lease: Lease,
): Promise<{ readonly body: Buffer; readonly bodyKey: string | undefined } | Refusal> {
  const packed = await request.read(lease);
  if (!Buffer.isBuffer(packed)) return packed;
  if (!strangersTime.allows(packed, isPacked(packed))) return tooManyStrangers;
  const startedMs = clock.steadyNow();
  const body = unpack(packed, request, lease);
  const bodyKey = Buffer.isBuffer(body) ? textFieldIn(body, writeKeyField) : undefined;
  const refusal =
    Buffer.isBuffer(body) && bodyKey === undefined && body.length <= triedOutBytes
      ? readRequest(body, request.type).refusal
      : undefined;
  if (keys.find(bodyKey) === undefined) strangersTime.spent(startedMs);
  return Buffer.isBuffer(body) ? (refusal ?? { body, bodyKey }) : body;
}

/** The result of `JSON.parse` takes many times the memory of the body and of the records, so nothing waits that holds it. */
function readCalls(
  { rateLimits, topics }: AcceptDeps,
  body: Buffer,
  { type, clientIp }: TrackingRequest,
  receivedMs: number,
  writeKey: string,
): ReceivedCalls | Refusal {
  const { submission, refusal } = readRequest(body, type);
  if (refusal !== undefined) return refusal;
  const count = submission.calls.length;
  const worth = callsWorth(count, submission.bytes);
  const waitS = rateLimits?.take(writeKey, worth);
  if (waitS !== undefined) return rateLimited(waitS);
  const prepared = prepareCalls(submission, { receivedMs, writeKey, clientIp }, topics);
  return { ...prepared, count, worth, writeKey };
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

const tooManyStrangers: Refusal = {
  code: 'rate-limited',
  message:
    'The gateway is busy with requests that have no known write key; send this again later, or with the write key in Basic authentication.',
  retryAfterS: 1,
};

function rateLimited(waitS: number): Refusal {
  return {
    code: 'rate-limited',
    message: 'This write key has sent more calls than its limit allows; send this again later.',
    retryAfterS: Math.ceil(waitS),
  };
}

/** Clients send the same header with all their requests. Strangers may send any, which take little memory here. */
const mostRemembered = 1_000;
const longestRemembered = 256;
const remembered = new Map<string, string>();

/** The user name of Basic authentication; undefined for any other scheme and for an empty one. */
function basicWriteKey(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined;
  const known = remembered.get(authorization);
  if (known !== undefined) return known;
  const writeKey = decodeWriteKey(authorization);
  if (writeKey !== undefined && authorization.length <= longestRemembered) {
    if (remembered.size >= mostRemembered) remembered.clear();
    remembered.set(authorization, writeKey);
  }
  return writeKey;
}

function decodeWriteKey(authorization: string): string | undefined {
  const match = /^basic +(\S+) *$/i.exec(authorization);
  if (match === null) return undefined;
  const [writeKey] = Buffer.from(match[1] ?? '', 'base64')
    .toString()
    .split(':', 1);
  return writeKey === '' ? undefined : writeKey;
}
