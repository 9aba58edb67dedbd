import { Registry } from 'prom-client';
import { DeliveryEngine, type EngineDeps } from '../../src/delivery/engine.ts';
import { DeliveryEvents } from '../../src/delivery/events.ts';
import { newClaim } from '../../src/delivery/job.ts';
import { DeliveryMetrics } from '../../src/delivery/metrics.ts';
import type { Sender } from '../../src/delivery/sender.ts';
import { deliveryKey, encodeEnvelope, envelopeHeader } from '../../src/event/envelope.ts';
import { TakenRecord } from '../../src/kafka/consume/taken-record.ts';
import type { OutgoingRecord } from '../../src/kafka/record.ts';
import { systemClock } from '../../src/ops/clock.ts';
import { silentLogger, type Logger } from '../../src/ops/log.ts';
import type { Destination, Webhook } from '../../src/resources/resource.ts';
import { createTopology, type Topology } from '../../src/topology.ts';
import { HandMadeFence } from './hand-made-fence.ts';
import { noPauses } from './hand-made-pauses.ts';

const minuteMs = 60_000;

/** The surroundings of an engine in which nothing but endpoints is in trouble, with the defaults of the settings. */
export function quietSurroundings(
  topology: Topology,
  destinations: ReadonlyMap<string, Destination>,
): Omit<EngineDeps, 'clock' | 'random' | 'sender' | 'sink' | 'events'> {
  return {
    destinations: {
      offset: 1,
      destination: (id) => destinations.get(id),
      destinations: () => destinations.values(),
      isUnreadable: () => false,
      uidOf: () => undefined,
      isFresh: () => true,
    },
    fence: new HandMadeFence(),
    paused: noPauses,
    fenceMs: 7_000,
    topics: {
      retryTopic: (tierMs) => topology.retryTopic(tierMs),
      dedicatedTopic: (id) => topology.dedicatedTopic(id).name,
      retryTierMs: (name) => topology.retryTierMs(name),
      deadLetter: topology.topics.deadLetter,
      paused: topology.topics.paused,
    },
    policy: {
      tiersMs: topology.retryTiersMs,
      windowMs: 240 * minuteMs,
      maxAgeMs: 4_320 * minuteMs,
      spillAfterMs: 5_040 * minuteMs,
    },
    busyShare: () => 0,
    maxInFlight: 1_024,
    maxInFlightPerDestination: 64,
  };
}

/** The production engine with real time and a real sender. Only Kafka is missing: what is put off stays away. */
export class RealEngine {
  readonly metrics: DeliveryMetrics = new DeliveryMetrics(new Registry());
  readonly engine: DeliveryEngine;
  /** The message ids of finished records, which are delivered, unless something was written for them. */
  readonly finished: string[] = [];
  readonly written: OutgoingRecord[] = [];
  readonly #destinations = new Map<string, Destination>();
  readonly #claim = newClaim({ topic: 'delivery', partition: 0 }, false);
  #sequence = 0;

  constructor(sender: Sender, log: Logger = silentLogger) {
    const topology = createTopology({
      prefix: '',
      partitions: 1,
      replicationFactor: 1,
      retryTiersMs: [10_000, minuteMs],
      extraIngestTopics: [],
    });
    this.engine = new DeliveryEngine({
      clock: systemClock,
      random: Math.random,
      sender,
      sink: {
        produce: (record, done) => {
          this.written.push(record);
          setImmediate(done);
        },
      },
      events: new DeliveryEvents(log, this.metrics, systemClock),
      ...quietSurroundings(topology, this.#destinations),
    });
  }

  /** Creates the destination, or changes it. */
  apply(id: string, ...webhooks: readonly Webhook[]): void {
    this.configure({ id, webhooks });
  }

  /** As `apply`, for a destination with other fields. */
  configure({ id, ...changes }: Pick<Destination, 'id'> & Partial<Destination>): void {
    this.#destinations.set(id, {
      kind: 'Destination',
      id,
      name: id,
      sources: ['shop'],
      enabled: true,
      webhooks: [],
      payload: 'standard',
      topic: 'shared',
      ...changes,
    });
    this.engine.destinationChanged(id);
  }

  publish(destinationId: string, body: string = '{"type":"track"}'): void {
    const messageId = `m${++this.#sequence}`;
    const envelope = encodeEnvelope({
      destinationId,
      sourceId: 'shop',
      messageId,
      type: 'track',
      configOffset: 1,
      appendTimeMs: Date.now(),
      attempts: 0,
    });
    const end = {
      finish: () => void this.finished.push(messageId),
      release: () => undefined,
    };
    const record = {
      topic: 'delivery',
      partition: 0,
      offset: this.#sequence,
      timestampMs: Date.now(),
      key: Buffer.from(deliveryKey(destinationId, messageId)),
      value: Buffer.from(body),
      headers: { [envelopeHeader]: Buffer.from(envelope) },
    };
    this.engine.take(this.#claim, [new TakenRecord(record, end, 0)]);
  }

  stop(): void {
    this.engine.stop();
    this.engine.close();
  }
}
