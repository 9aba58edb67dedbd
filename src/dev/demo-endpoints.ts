import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import type { Ledger } from './ledger.ts';
import { startReceiver, type Answer, type Arrival, type Receiver } from './receiver.ts';

/**
 * The demo's four endpoints: one healthy, one that fails at random, one that takes compressed batches and answers for
 * each event, and one that is dead.
 */

const demoSourceId = 'shop';
export const demoWriteKey = 'wk_shop_demo';
export const demoDestinations = ['healthy', 'flaky', 'batched', 'dead'] as const;
type DemoDestination = (typeof demoDestinations)[number];

const sharedSecret = 'demo-secret';
const flakyFailureShare = 0.2;
const idHeader = 'Idempotency-Key';

const fieldsOf: Readonly<Record<DemoDestination, object>> = {
  healthy: {},
  flaky: {},
  batched: { payload: 'full', batch: { events: 100, wait: '1s' }, compress: 'gzip' },
  dead: {},
};

export interface DemoEndpoints {
  /** The source and its destinations, as in a file for `postrider apply`. */
  readonly resources: readonly object[];
  close(): Promise<void>;
}

/** Starts the endpoints; every request that they get is entered into the ledger. */
export async function startDemoEndpoints(ledger: Ledger): Promise<DemoEndpoints> {
  const healthy = await startEndpoint('healthy', ledger, (arrival) => alone(arrival, 200));
  const flaky = await startEndpoint('flaky', ledger, (arrival) =>
    alone(arrival, Math.random() < flakyFailureShare ? 503 : 200),
  );
  const batched = await startEndpoint('batched', ledger, eachOfBatch);
  const urls = {
    healthy: healthy.url,
    flaky: flaky.url,
    batched: batched.url,
    dead: await deadUrl(),
  };
  return {
    resources: [
      { kind: 'Source', id: demoSourceId, name: 'Gift shop', writeKeys: [demoWriteKey] },
      ...demoDestinations.map((id) => ({
        kind: 'Destination',
        id,
        name: id,
        sources: [demoSourceId],
        sharedSecret,
        webhooks: [{ url: `${urls[id]}/events` }],
        idempotencyHeader: idHeader,
        ...fieldsOf[id],
      })),
    ],
    close: async () => {
      await Promise.all([healthy.close(), flaky.close(), batched.close()]);
    },
  };
}

/** An answer, and what it says of each event of the request. */
interface Judged {
  readonly answer: Answer;
  readonly events: Parameters<Ledger['arrived']>[1];
}

async function startEndpoint(
  destination: DemoDestination,
  ledger: Ledger,
  judge: (arrival: Arrival) => Judged,
): Promise<Receiver> {
  return startReceiver({
    port: 0,
    sharedSecret,
    answer: (arrival) => {
      const { answer, events } = judge(arrival);
      ledger.arrived(destination, events, arrival.signature === 'valid');
      return answer;
    },
  });
}

function alone({ headers }: Arrival, status: number): Judged {
  const id = String(headers[idHeader.toLowerCase()]);
  return { answer: { status }, events: [{ id, answered: status }] };
}

/** It takes orders, and refuses those that are cancelled; the others in the batch arrive all the same. */
function eachOfBatch({ batch = [] }: Arrival): Judged {
  const events = batch.map((each) => {
    const { messageId, event } = each as { readonly messageId: string; readonly event?: string };
    return { id: messageId, answered: event === 'Order Cancelled' ? 422 : 200 };
  });
  const results = events.map(({ answered: status }) =>
    status === 200 ? { status } : { status, error: 'the order is cancelled' },
  );
  return { answer: { status: 207, body: JSON.stringify({ results }) }, events };
}

/** A port on which nobody listens: connections are refused. */
async function deadUrl(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return `http://127.0.0.1:${port}`;
}
