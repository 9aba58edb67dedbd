import type { Appended } from './log.ts';
import { isMarker } from './partition-transactions.ts';

/** Where fields are, from a batch's first byte. */
const lastOffsetDeltaAt = 23;
const producerIdAt = 43;
const producerEpochAt = 51;
const sequenceAt = 53;

const sequences = 2 ** 31;
const rememberedBatches = 5;

interface ProducerState {
  readonly epoch: number;
  /** The newest last. */
  readonly batches: readonly { readonly first: number; readonly last: number; offset: number }[];
}

/** What a partition knows of its producers, with Kafka's rules about who may write what next (ProducerAppendInfo). */
export class ProducerStates {
  readonly #states: Map<string, ProducerState>;

  constructor(known?: ProducerStates) {
    this.#states = new Map(known === undefined ? [] : known.#states);
  }

  get producerIds(): string[] {
    return [...this.#states.keys()];
  }

  /** What is answered without appending anything: an error, or where the same batch is already; undefined: append it. */
  judge(batch: Buffer): Appended | undefined {
    const { producerId, epoch, first, last } = originOf(batch);
    const state = this.#states.get(producerId);
    if (state === undefined || isMarker(batch)) return undefined;
    if (epoch < state.epoch) return { error: 'INVALID_PRODUCER_EPOCH', baseOffset: -1 };
    const same = state.batches.find((known) => known.first === first && known.last === last);
    if (epoch === state.epoch && same !== undefined)
      return { error: 'NONE', baseOffset: same.offset };
    const expected = epoch > state.epoch ? 0 : ((state.batches.at(-1)?.last ?? -1) + 1) % sequences;
    if (first !== expected) return { error: 'OUT_OF_ORDER_SEQUENCE_NUMBER', baseOffset: -1 };
    return undefined;
  }

  add(batch: Buffer, offset: number): void {
    const { producerId, epoch, first, last } = originOf(batch);
    if (producerId === '-1') return;
    const state = this.#states.get(producerId);
    const before = state?.epoch === epoch ? state.batches : [];
    const batches = isMarker(batch) ? before : [...before, { first, last, offset }];
    this.#states.set(producerId, { epoch, batches: batches.slice(-rememberedBatches) });
  }
}

function originOf(batch: Buffer): {
  readonly producerId: string;
  readonly epoch: number;
  readonly first: number;
  readonly last: number;
} {
  const first = batch.readInt32BE(sequenceAt);
  return {
    producerId: String(batch.readBigInt64BE(producerIdAt)),
    epoch: batch.readInt16BE(producerEpochAt),
    first,
    last: (first + batch.readInt32BE(lastOffsetDeltaAt)) % sequences,
  };
}
