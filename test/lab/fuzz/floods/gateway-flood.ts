import { connect, type AddressInfo } from 'node:net';
import { auth, createTestGateway } from '../../../gateway/fakes.ts';
import { mutate, type Material } from '../engine/mutate.ts';
import { Random } from '../engine/random.ts';
import { counted, inParallel, megabytes, usedBytes, type FloodResult } from './flood.ts';
import { hostileRequests, requestWords } from './hostile-requests.ts';

const width = 32;
const warmUp = 1_000;
const goodEvery = 50;
const patienceMs = 20_000;
/** What caches and statistics may take. */
const mostGrowthBytes = 12 * 2 ** 20;

const goodBody = '{"batch":[{"type":"page","userId":"u"}]}';
const good = `POST /v1/batch HTTP/1.1\r\nhost: x\r\nauthorization: ${auth.authorization}\r\nconnection: close\r\ncontent-length: ${goodBody.length}\r\n\r\n${goodBody}`;

/**
 * Hostile requests, each on a connection of its own, at a real gateway with its real limits of size and
 * shorter ones of time. No answer is a 5xx, a good request in between is answered 200, every connection ends,
 * and memory is flat.
 */
export async function floodGateway(seed: number, requests: number): Promise<FloodResult> {
  const random = new Random(seed);
  const { server, producer, budget } = createTestGateway({
    corsOrigins: ['*'],
    trustedProxies: ['127.0.0.0/8'],
    timeouts: {
      headersMs: 1_000,
      requestMs: 2_000,
      idleMs: 1_000,
      checkEveryMs: 200,
      bodyWindowMs: 500,
    },
  });
  await server.listen({ port: 0, host: '127.0.0.1' });
  const { port } = server.server.address() as AddressInfo;
  const material: Material = {
    corpus: hostileRequests(auth.authorization),
    words: requestWords.map((word) => Buffer.from(word, 'latin1')),
    mostBytes: 64 * 1024,
  };
  const counts = new Map<string, number>();
  const problems: string[] = [];
  const problem = (what: string, sent: Buffer): void => {
    if (problems.length < 20)
      problems.push(`${what} after ${JSON.stringify(sent.toString('latin1').slice(0, 400))}`);
  };

  const hostile = async (): Promise<void> => {
    const chosen = random.pick(material.corpus);
    const bytes = random.below(4) === 0 ? chosen : mutate(chosen, material, random);
    const answer = await exchange(port, bytes, random);
    if (answer === undefined) problem('no end of the connection', bytes);
    const statuses = [...(answer ?? '').matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(
      ([, status = '']) => status,
    );
    if (statuses.length === 0) statuses.push('no answer');
    for (const status of statuses) {
      counts.set(status, (counts.get(status) ?? 0) + 1);
      if (status.startsWith('5')) problem(`status ${status}`, bytes);
    }
    producer.records.length = 0;
  };
  const friendly = async (): Promise<void> => {
    const bytes = Buffer.from(good);
    const answer = await exchange(port, bytes, undefined);
    if (answer?.startsWith('HTTP/1.1 200 ') !== true)
      problem(`a good request got ${answer ?? 'no answer'}`, bytes);
  };
  const run = async (count: number): Promise<void> => {
    let left = count;
    await inParallel(width, () => {
      left -= 1;
      if (left < 0) return undefined;
      return left % goodEvery === 0 ? friendly() : hostile();
    });
  };

  await run(Math.min(warmUp, requests));
  const before = await usedBytes();
  counts.clear();
  await run(requests);
  const grown = (await usedBytes()) - before;
  if (grown > mostGrowthBytes) problems.push(`memory grew by ${megabytes(grown)}`);
  if (budget.usedBytes !== 0) problems.push(`${budget.usedBytes} bytes of requests are still held`);
  const connections = await new Promise<number>((resolve) => {
    server.server.getConnections((_error, count) => {
      resolve(count);
    });
  });
  if (connections !== 0) problems.push(`${connections} connections are still open`);
  await server.close();
  const text = `${requests.toLocaleString('en-US')} hostile requests at the gateway: ${counted(counts)}; memory in use changed by ${megabytes(grown)}.`;
  return { text, problems };
}

/**
 * What the server says until the connection ends; undefined if it does not end.
 * @param random how it is sent: whole, in pieces, half-closed, cut or abandoned; undefined: whole
 */
async function exchange(
  port: number,
  bytes: Buffer,
  random: Random | undefined,
): Promise<string | undefined> {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  const chunks: Buffer[] = [];
  let kept = 0;
  socket.on('data', (chunk: Buffer) => {
    // A pipeline of thousands of requests has as many answers.
    if (kept < 1_000_000) chunks.push(chunk);
    kept += chunk.length;
  });
  const closed = new Promise<true>((resolve) =>
    socket.once('close', () => {
      resolve(true);
    }),
  );
  const how = random?.below(16) ?? 0;
  if (how === 1) {
    const middle = random?.below(bytes.length + 1) ?? 0;
    socket.write(bytes.subarray(0, middle));
    setImmediate(() => socket.end(bytes.subarray(middle)));
  } else if (how === 2) socket.write(bytes, () => socket.resetAndDestroy());
  else if (how === 3) socket.write(bytes);
  else if (how === 4) socket.pause().end(bytes, () => setTimeout(() => socket.destroy(), 20));
  else socket.end(bytes);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, patienceMs, false);
  });
  const isOver = await Promise.race([closed, late]);
  clearTimeout(timer);
  socket.destroy();
  return isOver ? Buffer.concat(chunks).toString('latin1') : undefined;
}
