// Runs in a process of its own: it collects garbage again and again, and measures the memory of the process.

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { describe, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createSender, post, rawServer } from './sender-scene.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** What was written is read then, on the other side of the socket in this very process. */
async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

function usedBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Buffers are freed some time after they were collected. */
async function keptBytes(): Promise<number> {
  let bytes = usedBytes();
  for (;;) {
    await someTurns();
    const nextBytes = usedBytes();
    if (nextBytes >= bytes) return bytes;
    bytes = nextBytes;
  }
}

const attempts = 16;
/** Of any flood we have cut an answer long before. */
const mostSteps = 400;

const ok = 'HTTP/1.1 200 OK\r\n';

/** Each step brings about a sixtieth of what we take; names and values of headers we keep until the head ends. */
const floods: [what: string, head: string, step: string, mostBytes: number][] = [
  ['header lines', ok, 'a:\r\n'.repeat(6), 160_000],
  ['body', `${ok}\r\n`, 'x'.repeat(1_024), 32_000],
  ['chunks', `${ok}Transfer-Encoding: chunked\r\n\r\n`, '1\r\nx\r\n'.repeat(1_024), 32_000],
  ['interim answers', '', `HTTP/1.1 103 Hint\r\nLink: ${'y'.repeat(2_000)}\r\n\r\n`, 32_000],
];

/** Bytes that each of several attempts holds at most while its answer comes, step by step until we cut it. */
async function mostHeldBytes(head: string, step: string): Promise<number> {
  const sockets: Socket[] = [];
  const allAsked = Promise.withResolvers<undefined>();
  const { url } = await rawServer((socket) => {
    socket.once('data', () => {
      socket.write(head);
      sockets.push(socket);
      if (sockets.length === attempts) allAsked.resolve(undefined);
    });
  });
  const sender = createSender({ timeoutMs: 60_000 });
  let cut = 0;
  for (let i = 0; i < attempts; i += 1) void post(url, { sender }).then(() => (cut += 1));
  await allAsked.promise;
  const before = await keptBytes();
  let most = 0;
  for (let steps = 0; cut === 0; steps += 1) {
    assert.ok(steps < mostSteps, 'it is never cut');
    if (steps % 12 === 0) most = Math.max(most, (await keptBytes()) - before);
    for (const socket of sockets) socket.write(step);
    await someTurns();
  }
  await sender.close();
  return most / attempts;
}

describe('memory stays flat while endpoints send without an end', () => {
  for (const [what, head, step, mostBytes] of floods)
    test(what, async () => {
      const held = await mostHeldBytes(head, step);
      assert.ok(held < mostBytes, `${held} bytes an attempt`);
    });
});
