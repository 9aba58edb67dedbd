import { ByteReader } from './byte-reader.ts';
import { ByteWriter } from './byte-writer.ts';
import { errorName, KafkaAnswerError } from './errors.ts';
import type { Exchange } from './exchange.ts';

/** The identity by which Kafka recognizes a repeated batch. */
export interface ProducerIdentity {
  readonly id: number;
  readonly epoch: number;
}

/** InitProducerId, version 1: requests an id for a producer without transactions. */
export const initProducerIdExchange: Exchange<ProducerIdentity> = {
  apiKey: 22,
  apiName: 'InitProducerId',
  version: 1,
  encode: encodeInitProducerIdRequest,
  decode: decodeInitProducerId,
};

const transactionalId = null;
/** Unused without transactions, but must be above zero. */
const transactionTimeoutMs = 60_000;

function encodeInitProducerIdRequest(): ByteWriter {
  return new ByteWriter(16).string(transactionalId).int32(transactionTimeoutMs);
}

/** @throws KafkaAnswerError */
function decodeInitProducerId(bytes: Buffer): ProducerIdentity & { readonly throttleMs: number } {
  const reader = new ByteReader(bytes);
  const throttleMs = reader.int32();
  const error = errorName(reader.int16());
  if (error !== 'NONE') throw new KafkaAnswerError(error, 'InitProducerId');
  return { id: reader.int64(), epoch: reader.int16(), throttleMs };
}
