import type { IncomingMessage } from 'node:http';
import type { CallType } from '../event/call.ts';
import type { Clock } from '../ops/clock.ts';
import type { ByteBudget, Lease } from './byte-budget.ts';
import type { GatewayEvents } from './events.ts';
import type { IngestWriter } from './ingest-writer.ts';
import type { KnownKeys } from './known-keys.ts';
import { prepareCalls, type IngestTopics, type Prepared, type Receipt } from './prepare-call.ts';
import type { RateLimits } from './rate-limits.ts';
import { overloaded, receiveBody, unpackBody } from './read-body.ts';
import { readRequest, type Submission } from './read-request.ts';
import type { Refusal } from './refusal.ts';
import { basicWriteKey } from './write-key.ts';

export interface AcceptDeps {
  readonly keys: KnownKeys;
  readonly writer: Pick<IngestWriter, 'isAvailable' | 'write'>;
  readonly budget: ByteBudget;
  /** The part of it for requests that have not shown a known write key yet. */
  readonly strangers: ByteBudget;
  /** Undefined: none. */
  readonly rateLimits: RateLimits | undefined;
  readonly topics: IngestTopics;
  readonly clock: Clock;
  readonly events: GatewayEvents;
}

export interface TrackingRequest {
  readonly stream: IncomingMessage;
  /** Of the path; undefined for a batch. */
  readonly type: CallType | undefined;
  readonly clientIp: () => string | undefined;
}

/** Undefined once Kafka has acknowledged every call of the request, else why it is not accepted. */
export async function acceptRequest(
  deps: AcceptDeps,
  request: TrackingRequest,
): Promise<Refusal | undefined> {
  const { budget, strangers, keys } = deps;
  const headerKey = basicWriteKey(request.stream.headers.authorization);
  // Else whoever sends bodies slowly, without any key, could take all the room.
  const lease = (keys.find(headerKey) === undefined ? strangers : budget).lease();
  try {
    return await accept(deps, request, headerKey, lease);
  } finally {
    lease.release();
  }
}

async function accept(
  deps: AcceptDeps,
  { stream, type, clientIp }: TrackingRequest,
  headerKey: string | undefined,
  lease: Lease,
): Promise<Refusal | undefined> {
  const { keys, writer, clock, rateLimits, budget } = deps;
  const { headers } = stream;
  if (!writer.isAvailable) return kafkaUnavailable;
  const receivedMs = clock.now();
  const received = await receiveBody(stream, Number(headers['content-length'] ?? 0), lease);
  if (!Buffer.isBuffer(received)) return received;
  const body = unpackBody(received, headers['content-encoding']);
  if (!Buffer.isBuffer(body)) return body;
  if (body !== received && !lease.grow(body.length)) return overloaded;
  const { submission, refusal } = readRequest(body, type);
  if (refusal !== undefined) return refusal;

  const given = [headerKey, submission.writeKey];
  const writeKey = keys.find(...given) ?? (await keys.findCurrent(...given));
  if (typeof writeKey !== 'string') return writeKey;
  lease.moveTo(budget);
  const calls = submission.calls.length;
  const waitS = rateLimits?.take(writeKey, calls);
  if (waitS !== undefined) return rateLimited(waitS);
  const notWritten = await write(deps, submission, { receivedMs, writeKey, clientIp }, lease);
  if (notWritten !== undefined) rateLimits?.giveBack(writeKey, calls);
  return notWritten;
}

async function write(
  { writer, topics, events }: AcceptDeps,
  submission: Submission,
  receipt: Receipt,
  lease: Lease,
): Promise<Refusal | undefined> {
  const prepared = prepareCalls(submission, receipt, topics);
  if (!lease.grow(heldBytes(prepared))) return overloaded;
  if (!(await writer.write(prepared.map(({ record }) => record)))) return kafkaUnavailable;
  const rejections = prepared.flatMap(({ rejection }) => rejection ?? []);
  events.accepted(prepared.length, rejections, receipt.receivedMs);
  return undefined;
}

/** What the producer keeps of a record besides its value. */
const recordOverheadBytes = 500;

function heldBytes(prepared: readonly Prepared[]): number {
  return prepared.reduce(
    (sum, { record }) => sum + (record.value?.length ?? 0) + recordOverheadBytes,
    0,
  );
}

const kafkaUnavailable: Refusal = {
  code: 'kafka-unavailable',
  message: 'Kafka has not acknowledged the calls; send them again with the same message ids.',
  retryAfterS: 2,
};

function rateLimited(waitS: number): Refusal {
  return {
    code: 'rate-limited',
    message: 'This write key has sent more calls than its limit allows; send this again later.',
    retryAfterS: Math.ceil(waitS),
  };
}
