import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * An endpoint that takes batches, as a process of its own. It refuses those that hold a poisonous event, as a whole, and
 * measures the age of events that say when they were made. Sends its port, and its counts when it is asked.
 */
export interface BatchReceiverCounts {
  readonly requests: number;
  readonly agesMs: readonly number[];
}

export const poison = 'poisonous event';

let requests = 0;
const agesMs: number[] = [];
const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    requests += 1;
    const body = Buffer.concat(chunks);
    const nowMs = Date.now();
    for (const [, madeMs] of body.toString().matchAll(/"madeMs":(\d+)/g))
      agesMs.push(nowMs - Number(madeMs));
    response.statusCode = body.includes(poison) ? 422 : 200;
    response.end();
  });
});
server.listen(0, '127.0.0.1', () => {
  process.send?.((server.address() as AddressInfo).port);
});
process.on('message', () => {
  process.send?.({ requests, agesMs } satisfies BatchReceiverCounts);
});
process.on('disconnect', () => {
  process.exit();
});
