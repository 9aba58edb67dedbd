import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { systemClock, type SteadyClock } from '../../../../src/ops/clock.ts';
import { mutate, type Material } from '../engine/mutate.ts';
import { Random } from '../engine/random.ts';
import { attemptAt, oddityOf, openLocalSender } from '../sending.ts';
import { counted, inParallel, megabytes, usedBytes, type FloodResult } from './flood.ts';
import { answerWords, hostileAnswers } from './hostile-answers.ts';

const width = 32;
const warmUp = 1_000;
const timeoutMs = 1_000;
/** A busy machine is late, not a sender. */
const patienceMs = 30_000;
/** What caches and statistics may take. */
const mostGrowthBytes = 12 * 2 ** 20;

/**
 * Hostile answers from an endpoint to the real sender. Every attempt ends with an outcome of the table, no
 * connection and no timer is left, and memory is flat.
 */
export async function floodEndpoints(seed: number, answers: number): Promise<FloodResult> {
  const random = new Random(seed);
  const material: Material = {
    corpus: hostileAnswers(),
    words: answerWords.map((word) => Buffer.from(word, 'latin1')),
    mostBytes: 128 * 1024,
  };
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    socket.on('data', () => {
      answer(socket, random, material);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const { clock, pending } = countingClock();
  const sender = openLocalSender(timeoutMs, clock);
  const counts = new Map<string, number>();
  const problems: string[] = [];
  const problem = (what: string): void => {
    if (problems.length < 20) problems.push(what);
  };

  const attempt = async (): Promise<void> => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(resolve, patienceMs, undefined);
    });
    const ended = await Promise.race([attemptAt(sender, url), late]);
    clearTimeout(timer);
    if (ended === undefined) {
      problem('an attempt has no end');
      return;
    }
    const { outcome } = ended;
    const oddity = oddityOf(outcome);
    if (oddity !== undefined) problem(oddity);
    const what = outcome.kind === 'retryable' ? outcome.cause : outcome.kind;
    counts.set(what, (counts.get(what) ?? 0) + 1);
  };
  const run = async (count: number): Promise<void> => {
    let left = count;
    await inParallel(width, () => (--left < 0 ? undefined : attempt()));
  };

  await run(Math.min(warmUp, answers));
  const before = await usedBytes();
  counts.clear();
  await run(answers);
  const grown = (await usedBytes()) - before;
  if (grown > mostGrowthBytes) problem(`memory grew by ${megabytes(grown)}`);
  await sender.close();
  const closing = [...sockets].map((socket) => new Promise((done) => socket.once('close', done)));
  const allClosed = await Promise.race([
    Promise.all(closing).then(() => true),
    new Promise<false>((resolve) => setTimeout(resolve, 5_000, false)),
  ]);
  if (!allClosed) problem(`${sockets.size} connections are left`);
  if (pending() !== 0) problem(`${pending()} timers are left`);
  for (const socket of sockets) socket.destroy();
  server.close();
  const text = `${answers.toLocaleString('en-US')} hostile answers of endpoints: ${counted(counts)}; memory in use changed by ${megabytes(grown)}.`;
  return { text, problems };
}

/** Sends a changed answer, whole or in pieces, and then ends, cuts or keeps the connection. */
function answer(socket: Socket, random: Random, material: Material): void {
  const chosen = random.pick(material.corpus);
  const bytes = random.below(4) === 0 ? chosen : mutate(chosen, material, random);
  const middle = random.below(2) === 0 ? random.below(bytes.length + 1) : 0;
  const how = random.below(8);
  if (middle > 0) socket.write(bytes.subarray(0, middle));
  setImmediate(() => {
    if (how < 4) socket.end(bytes.subarray(middle));
    else if (how < 6) socket.write(bytes.subarray(middle), () => socket.resetAndDestroy());
    // The sender's time ends one in four. Most of them would take all the time.
    else if (how === 6 || random.below(4) > 0) socket.end(bytes.subarray(middle));
    else socket.write(bytes.subarray(middle));
  });
}

/** The system's clock, and how many of its timers are pending. */
function countingClock(): { readonly clock: SteadyClock; readonly pending: () => number } {
  const timers = new Set<object>();
  return {
    pending: () => timers.size,
    clock: {
      now: () => systemClock.now(),
      steadyNow: () => systemClock.steadyNow(),
      after: (delayMs, callback) => {
        const key = {};
        timers.add(key);
        const timer = systemClock.after(delayMs, () => {
          timers.delete(key);
          callback();
        });
        return {
          cancel: () => {
            timers.delete(key);
            timer.cancel();
          },
        };
      },
    },
  };
}
