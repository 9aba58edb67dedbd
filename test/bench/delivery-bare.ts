import { createHmac, createSecretKey } from 'node:crypto';
import { Agent } from 'undici';
import type { Dispatcher } from 'undici';
import { Deadlines } from '../../src/delivery/http/deadlines.ts';
import type { Timed } from '../../src/delivery/http/deadlines.ts';
import { createKafka } from '../../src/kafka/client.ts';
import type { FetchedBatches } from '../../src/kafka/kafkajs/fetched-batches.ts';
import { systemClock } from '../../src/ops/clock.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { loadTopology, sharedSecret, timeoutMs } from './delivery-load.ts';
import type { DeliveryLoad } from './delivery-load.ts';
import { reportMeasurement } from './measure.ts';

/**
 * The least that can be called a delivery: consume, sign, POST with a deadline and a cap on the answer. No
 * order, no lanes, no breaker, no metrics, no retries; offsets are committed whatever happens.
 * Argument 1 is the load as JSON; prints a measurement as JSON.
 */
const load = JSON.parse(process.argv[2] ?? '') as DeliveryLoad;
const maxAnswerBytes = 65_536;
const key = createSecretKey(sharedSecret, 'utf8');
const agent = new Agent({ allowH2: false, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
const deadlines = new Deadlines(systemClock, timeoutMs);
const origin = `http://127.0.0.1:${load.receiverPort}`;
const waiting: Buffer[] = [];
let next = 0;
let inFlight = 0;
let delivered = 0;
let drained: (() => void) | undefined;

class Request implements Dispatcher.DispatchHandler, Timed {
  deadlineMs = 0;
  earlier: Timed | undefined = undefined;
  later: Timed | undefined = undefined;
  #controller: Dispatcher.DispatchController | undefined = undefined;
  #bytes = 0;

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    if (status !== 200) throw new Error(`answered ${status}`);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > maxAnswerBytes) controller.abort(new Error('too much'));
  }

  onResponseEnd(): void {
    deadlines.remove(this);
    delivered += 1;
    inFlight -= 1;
    pump();
  }

  onResponseError(_controller: unknown, error: Error): void {
    throw error;
  }

  onDeadline(): void {
    this.#controller?.abort(new Error('timeout'));
  }
}

function pump(): void {
  while (inFlight < load.inFlight && next < waiting.length) {
    const body = waiting[next++];
    if (body === undefined) break;
    inFlight += 1;
    const request = new Request();
    deadlines.add(request, systemClock.steadyNow());
    const signature = createHmac('sha1', key).update(body).digest('hex');
    const headers = [
      ...['Content-Type', 'application/json', 'User-Agent', 'Postrider/1.0'],
      ...['X-Signature', signature],
    ];
    agent.dispatch({ origin, path: '/bare', method: 'POST', headers, body }, request);
  }
  if (next < waiting.length) return;
  waiting.length = 0;
  next = 0;
  drained?.();
}

const kafka = createKafka({ brokers: load.brokers, clientId: 'bench-bare' }, silentLogger);
const consumer = kafka.consumer({ groupId: load.group, maxWaitTimeInMs: 100 });
await consumer.connect();
await consumer.subscribe({
  topics: [loadTopology(load.prefix).topics.delivery],
  fromBeginning: true,
});
await consumer.run({
  autoCommitInterval: 1_000,
  eachBatchAutoResolve: false,
  eachBatch: async ({ batch }) => {
    const { batches } = batch as unknown as FetchedBatches;
    for (const each of batches) {
      for (const { value } of each.messages) if (value !== null) waiting.push(value);
      await new Promise<void>((resolve) => {
        drained = resolve;
        pump();
      });
      each.resolve();
    }
  },
});
await reportMeasurement({ warmUp: load.warmUp, total: load.events }, () => delivered);
