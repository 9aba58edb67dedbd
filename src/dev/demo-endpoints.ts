import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import type { Ledger } from './ledger.ts';
import { startReceiver, type Answer } from './receiver.ts';

/** The demo's three endpoints: one healthy, one that fails at random, one that is dead. */

const demoSourceId = 'shop';
export const demoWriteKey = 'wk_shop_demo';
export const demoDestinations = ['healthy', 'flaky', 'dead'] as const;

const sharedSecret = 'demo-secret';
const flakyFailureShare = 0.2;

export interface DemoEndpoints {
  /** The source and the three destinations, as in a file for `postrider apply`. */
  readonly resources: readonly object[];
  close(): Promise<void>;
}

/** Starts the endpoints; every request that they get is entered into the ledger. */
export async function startDemoEndpoints(ledger: Ledger): Promise<DemoEndpoints> {
  const healthy = await startEndpoint('healthy', ledger, () => ({ status: 200 }));
  const flaky = await startEndpoint('flaky', ledger, () => ({
    status: Math.random() < flakyFailureShare ? 503 : 200,
  }));
  const urls = { healthy: healthy.url, flaky: flaky.url, dead: await deadUrl() };
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
        idempotencyHeader: 'Idempotency-Key',
      })),
    ],
    close: async () => {
      await Promise.all([healthy.close(), flaky.close()]);
    },
  };
}

async function startEndpoint(
  destination: string,
  ledger: Ledger,
  decide: () => Answer,
): Promise<{ url: string; close(): Promise<void> }> {
  return startReceiver({
    port: 0,
    sharedSecret,
    answer: ({ headers, signature }) => {
      const answer = decide();
      const messageId = String(headers['idempotency-key']);
      ledger.arrived(destination, messageId, answer.status, signature === 'valid');
      return answer;
    },
  });
}

/** A port on which nobody listens: connections are refused. */
async function deadUrl(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return `http://127.0.0.1:${port}`;
}
