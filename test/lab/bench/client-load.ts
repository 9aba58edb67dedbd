import { Analytics, type TrackCall } from '../../../src/client/index.ts';

/** The client, measured: argument 1 is the load as JSON; prints a round's figures a line. */
export interface ClientLoad {
  /** Base URL of a receiver. */
  readonly endpoint: string;
  readonly calls: number;
  /** The first of them warms up, and is printed too. */
  readonly rounds: number;
}

export interface ClientRound {
  readonly trackUs: number;
  /** The same in CPU time, which a busy machine changes less. */
  readonly trackCpuUs: number;
  readonly queuedBytes: number;
  readonly callsPerSecond: number;
  /** Of the client's process for each call. */
  readonly flushCpuUs: number;
}

const load = JSON.parse(process.argv[2] ?? '') as ClientLoad;
const collectGarbage = globalThis.gc;
if (collectGarbage === undefined) throw new Error('needs --expose-gc');

/** 430 bytes as JSON. */
const samples: readonly TrackCall[] = Array.from({ length: 1_000 }, (_, index) => ({
  userId: `user-${index}`,
  event: 'Order Completed',
  properties: {
    order_id: `order-${index}`,
    total: 39.95,
    currency: 'GBP',
    products: ['85123A', '71053', '84406B'].map((sku) => ({ sku, quantity: 6, price: 2.55 })),
  },
  context: { ip: '203.0.113.7', userAgent: 'bench/1.0 (synthetic load)' },
}));

for (let round = 0; round < load.rounds; round += 1) {
  let delivered = 0;
  const analytics = new Analytics('wk_bench', {
    endpoint: load.endpoint,
    maxQueued: load.calls,
    onDelivered: () => {
      delivered += 1;
    },
  });
  // What the round before held is let go only after a turn.
  heldBytes();
  await new Promise((resolve) => setTimeout(resolve, 100));
  const bytesBefore = heldBytes();
  const cpuBefore = process.cpuUsage();
  const startedMs = performance.now();
  for (let i = 0; i < load.calls; i += 1) {
    analytics.track(samples[i % samples.length] as TrackCall);
  }
  const trackUs = ((performance.now() - startedMs) * 1_000) / load.calls;
  const trackCpuUs = cpuUs(process.cpuUsage(cpuBefore));
  const queuedBytes = heldBytes() - bytesBefore;
  const cpuFlushing = process.cpuUsage();
  const flushedMs = performance.now();
  await analytics.close();
  const callsPerSecond = (delivered * 1_000) / (performance.now() - flushedMs);
  const flushCpuUs = cpuUs(process.cpuUsage(cpuFlushing));
  const figures: ClientRound = { trackUs, trackCpuUs, queuedBytes, callsPerSecond, flushCpuUs };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
}

/** For each call. */
function cpuUs({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / load.calls;
}

function heldBytes(): number {
  collectGarbage?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
