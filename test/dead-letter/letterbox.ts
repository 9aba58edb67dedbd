import assert from 'node:assert/strict';
import { decodeEnvelope, envelopeHeader, type Envelope } from '../../src/event/envelope.ts';
import { withAdmin } from '../../src/kafka/admin.ts';
import { createKafka } from '../../src/kafka/client.ts';
import { createProducer } from '../../src/kafka/produce/producer.ts';
import { readRange } from '../../src/kafka/read-range.ts';
import type { IncomingRecord, OutgoingRecord } from '../../src/kafka/record.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { eventually } from '../harness/eventually.ts';
import { install, type Begun, type Ended, type Installation } from '../harness/postrider.ts';

/** A deployment without running roles, with three destinations and whatever letters are put into it. */
export interface Letterbox {
  put(records: readonly Omit<OutgoingRecord, 'topic'>[], topic?: string): Promise<void>;
  /** Its command, which must succeed. */
  run(...args: readonly string[]): Promise<Ended>;
  end(...args: readonly string[]): Promise<Ended>;
  /** As if stderr were a terminal. */
  endOnTerminal(...args: readonly string[]): Promise<Ended>;
  begin(...args: readonly string[]): Begun;
  /** As if stdin were a terminal. */
  beginOnTerminal(...args: readonly string[]): Begun;
  /** What is in the shared delivery topic, or in a destination's own. */
  delivery(destinationId?: string): Promise<IncomingRecord[]>;
  read(topic: string): Promise<IncomingRecord[]>;
  count(topic: string): Promise<number>;
  envelopeOf(record: IncomingRecord): Envelope;
  /** How many records the delivery topics and `redrives` hold. */
  written(): Promise<readonly number[]>;
  /** A time that is later than every letter so far and no later than the next one. */
  timeOfNext(): Promise<number>;
  /** Removes a topic, as by Kafka's own tools. */
  remove(topic: string): Promise<void>;
  /** For other commands. */
  readonly postrider: Installation;
  close(): Promise<void>;
}

const onTerminal = { NODE_OPTIONS: '--import data:text/javascript,process.stderr.isTTY=true' };
const atTerminal = { NODE_OPTIONS: '--import data:text/javascript,process.stdin.isTTY=true' };

export async function startLetterbox(
  command: 'dead-letters' | 'rejected' = 'dead-letters',
): Promise<Letterbox> {
  const postrider = await install();
  const { KAFKA_BROKERS = '', TOPIC_PREFIX = '' } = postrider.environment;
  const kafka = createKafka({ brokers: KAFKA_BROKERS.split(','), clientId: 'test' }, silentLogger);
  const producer = await createProducer(kafka, { log: silentLogger });
  assert.equal((await postrider.run(['topics', '--create'])).code, 0);
  const destination = {
    kind: 'Destination',
    sources: ['shop'],
    webhooks: [{ url: 'https://e.test' }],
  };
  const stdin = JSON.stringify([
    { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] },
    { ...destination, id: 'crm', name: 'CRM', sharedSecret: 'top-secret' },
    { ...destination, id: 'big', name: 'Big', topic: 'dedicated', customer: 'acme' },
    { ...destination, id: 'off', name: 'Off', enabled: false },
  ]);
  const { code, stderr } = await postrider.run(['apply', '-f', '-'], { stdin });
  assert.equal(code, 0, stderr);

  const read = async (name: string): Promise<IncomingRecord[]> => {
    const topic = `${TOPIC_PREFIX}${name}`;
    const ranges = await withAdmin(kafka, (admin) => admin.offsets(topic));
    const records: IncomingRecord[] = [];
    for await (const record of readRange(kafka, { topic, ranges })) records.push(record);
    return records;
  };
  const count = async (name: string): Promise<number> => {
    const ranges = await withAdmin(kafka, (admin) => admin.offsets(`${TOPIC_PREFIX}${name}`));
    return ranges.reduce((sum, { start, end }) => sum + end - start, 0);
  };
  // No worker runs, so nothing becomes of what is sent.
  const line = (args: readonly string[]): string[] => {
    const isSending = command === 'dead-letters' && args[0] === 'redrive';
    return [command, ...args, ...(isSending ? ['--wait', '0s'] : [])];
  };
  return {
    put: (records, topic = 'dead-letter') =>
      producer.send(records.map((record) => ({ ...record, topic: `${TOPIC_PREFIX}${topic}` }))),
    run: async (...args) => {
      const ended = await postrider.run(line(args));
      assert.equal(ended.code, 0, ended.stderr);
      return ended;
    },
    end: (...args) => postrider.run(line(args)),
    endOnTerminal: (...args) => postrider.run(line(args), { env: onTerminal }),
    begin: (...args) => postrider.begin(line(args)),
    beginOnTerminal: (...args) => postrider.begin(line(args), atTerminal),
    delivery: (id) => read(`delivery${id === undefined ? '' : `.${id}`}`),
    read,
    count,
    envelopeOf: ({ headers }) =>
      decodeEnvelope(headers[envelopeHeader] ?? Buffer.alloc(0)) ?? assert.fail(),
    written: () => Promise.all(['delivery', 'delivery.big', 'redrives'].map(count)),
    timeOfNext: async () => {
      const letters = await read('dead-letter');
      const lastMs = Math.max(...letters.map(({ timestampMs }) => timestampMs));
      return eventually(() => {
        assert.ok(Date.now() > lastMs);
        return Date.now();
      });
    },
    remove: (name) =>
      withAdmin(kafka, async (admin) => {
        const topic = `${TOPIC_PREFIX}${name}`;
        await admin.deleteTopic(topic);
        await eventually(async () => {
          assert.deepEqual(await admin.topicNames(topic), []);
        });
      }),
    postrider,
    close: () => producer.close(5_000),
  };
}
