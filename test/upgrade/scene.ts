import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { startReceiver, type Arrival, type Receiver } from '../../src/dev/receiver.ts';
import { readRange } from '../../src/kafka/read-range.ts';
import type { IncomingRecord } from '../../src/kafka/record.ts';
import { exampleDestination, exampleKey, exampleSource } from '../resources/examples.ts';
import { testDeployment, type TestDeployment } from '../resources/deployment.ts';
import { install, type Installation, type RunningRole } from '../harness/postrider.ts';
import { eventually } from '../harness/eventually.ts';

export type Role = 'gateway' | 'router' | 'delivery';

/** What the endpoints do; the name is the destination's id and the path. */
const destinations = ['healthy', 'flaky', 'away'] as const;
type DestinationId = (typeof destinations)[number];

const writeKey = 'wk_shop_1';
const batchCalls = 5;
const everyMs = 250;
/** A gateway that stops answers what it has, and a new one is asked then. */
const askAgainMs = 50;

/** A deployment whose roles are of whatever release the test starts, and the load that it is under. */
export class UpgradeScene {
  readonly deployment: TestDeployment;
  readonly #installation: Installation;
  readonly #receiver: Receiver;
  /** By destination and message id: how often it was taken. */
  readonly taken: Map<string, number> = new Map<string, number>();
  /** Message ids. */
  readonly sent: string[] = [];
  /** Sent again because no gateway answered. */
  readonly sentAgain: Set<string> = new Set<string>();
  /** Endpoints that fail everything. */
  readonly failing: Set<string> = new Set<string>();
  readonly #failedOnce = new Set<string>();
  readonly #running = new Map<Role, RunningRole[]>();
  #isSending = true;
  #sending: Promise<void> | undefined;

  private constructor(deployment: TestDeployment, installation: Installation, receiver: Receiver) {
    this.deployment = deployment;
    this.#installation = installation;
    this.#receiver = receiver;
  }

  static async open(): Promise<UpgradeScene> {
    const opened: { scene?: UpgradeScene } = {};
    const receiver = await startReceiver({
      port: 0,
      answer: (arrival) => ({ status: opened.scene?.arrived(arrival) ?? 503 }),
    });
    const deployment = await testDeployment();
    const { topology } = deployment;
    const installation = await install({
      TOPIC_PREFIX: topology.prefix,
      TOPIC_PARTITIONS: '2',
      RETRY_TIERS: '1s',
      SECRET_KEY: exampleKey.toString('base64'),
    });
    const scene = new UpgradeScene(deployment, installation, receiver);
    opened.scene = scene;
    await deployment.apply([
      { ...exampleSource(), id: 'shop', writeKeys: [writeKey] },
      ...destinations.map((id) =>
        exampleDestination({
          id,
          customer: 'acme',
          sources: ['shop'],
          webhooks: [{ url: `${receiver.url}/${id}`, headers: {} }],
          idempotencyHeader: 'Message-Id',
        }),
      ),
    ]);
    return scene;
  }

  /** What the endpoint answers. */
  arrived({ path, headers }: Arrival): number {
    const id = path.slice(1) as DestinationId;
    const event = `${id} ${String(headers['message-id'])}`;
    if (this.failing.has(id)) return 503;
    if (id === 'flaky' && !this.#failedOnce.has(event) && /[048c]$/.test(event)) {
      this.#failedOnce.add(event);
      return 503;
    }
    this.taken.set(event, (this.taken.get(event) ?? 0) + 1);
    return 200;
  }

  async start(role: Role, program: string): Promise<void> {
    const started = await this.#installation.start(role, {}, program);
    this.#running.set(role, [...(this.#running.get(role) ?? []), started]);
  }

  /** Ends the one of this role that was ready first. */
  async stopOldest(role: Role): Promise<void> {
    const [oldest, ...others] = this.#running.get(role) ?? [];
    this.#running.set(role, others);
    const code = await oldest?.kill('SIGTERM');
    if (code !== 0) throw new Error(`${role} ended with ${code}:\n${oldest?.log()}`);
  }

  logOf(role: Role): string {
    return (this.#running.get(role) ?? []).map(({ log }) => log()).join('\n');
  }

  /** Sends calls to whatever gateway there is, until `quiet`. */
  send(): void {
    this.#sending = (async () => {
      while (this.#isSending) {
        await this.#sendBatch();
        await delay(everyMs);
      }
    })();
  }

  /** Writes calls straight to the ingest topic. Gives their message ids. */
  async produce(count: number): Promise<string[]> {
    const topic = this.deployment.topology.topics.ingest;
    const calls = callsOf(count);
    await this.deployment.producer.send(
      calls.map((call) => ({
        topic,
        key: call.userId,
        value: JSON.stringify(call),
        headers: { 'write-key': writeKey },
      })),
    );
    const messageIds = calls.map(({ messageId }) => messageId);
    this.sent.push(...messageIds);
    return messageIds;
  }

  /** Nothing more is sent. */
  async quiet(): Promise<void> {
    this.#isSending = false;
    await this.#sending;
  }

  /**
   * Waits until all that was sent was taken by these destinations.
   * @param from leaves out as many that were sent first
   */
  async settled(ids: readonly string[], from: number = 0): Promise<void> {
    const sent = this.sent.slice(from);
    await eventually(() => {
      const missing = ids.flatMap((id) =>
        sent.filter((messageId) => !this.taken.has(`${id} ${messageId}`)).map(() => id),
      );
      if (missing.length > 0)
        throw new Error(
          `${missing.length} of ${sent.length} events not taken, e.g. by ${missing[0]}`,
        );
    });
  }

  /** Those that an endpoint took more than once. */
  repeated(): string[] {
    return [...this.taken]
      .filter(([event, times]) => times > 1 && !this.sentAgain.has(event.split(' ')[1] ?? ''))
      .map(([event]) => event);
  }

  async recordsOf(topic: string): Promise<IncomingRecord[]> {
    const records: IncomingRecord[] = [];
    for await (const record of readRange(this.deployment.kafka, { topic })) records.push(record);
    return records;
  }

  async close(): Promise<void> {
    await this.quiet();
    const running = [...this.#running.values()].flat();
    await Promise.all(running.map((role) => role.kill('SIGKILL')));
    await this.deployment.stop();
    await this.#receiver.close();
  }

  async #sendBatch(): Promise<void> {
    const batch = callsOf(batchCalls);
    const body = JSON.stringify({ batch });
    const authorization = `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}`;
    for (let tries = 1; ; tries += 1) {
      const gateways = this.#running.get('gateway') ?? [];
      const url = gateways.at(-1)?.gatewayUrl ?? '';
      const answer = await fetch(`${url}/v1/batch`, {
        method: 'POST',
        headers: { authorization },
        body,
      }).catch(() => undefined);
      if (answer?.ok === true) break;
      for (const { messageId } of batch) this.sentAgain.add(messageId);
      if (tries > 200) throw new Error('no gateway answers');
      await delay(askAgainMs);
    }
    this.sent.push(...batch.map(({ messageId }) => messageId));
  }
}

interface SentCall {
  readonly type: 'track';
  readonly messageId: string;
  readonly userId: string;
  readonly event: string;
}

function callsOf(count: number): SentCall[] {
  return Array.from({ length: count }, () => {
    const messageId = randomUUID();
    return { type: 'track', messageId, userId: `u${messageId.slice(0, 1)}`, event: 'Order' };
  });
}
