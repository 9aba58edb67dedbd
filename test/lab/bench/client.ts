import { fork } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { ClientLoad, ClientRound } from './client-load.ts';
import { firstLine, medianOf, type BenchResult } from './measure.ts';

export interface ClientBenchOptions {
  /** Default 5, after one to warm up. */
  readonly rounds?: number;
  readonly log?: (line: string) => void;
}

const calls = 100_000;

/** Queueing 100,000 calls and flushing them, in batches of 20, to the cheapest receiver. */
export async function benchClient(options: ClientBenchOptions): Promise<BenchResult[]> {
  const { rounds = 5, log = () => undefined } = options;
  const receiver = fork(new URL('raw-receiver.ts', import.meta.url), {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const endpoint = `http://127.0.0.1:${await firstLine(receiver)}`;
  const load: ClientLoad = { endpoint, calls, rounds: rounds + 1 };
  const client = fork(new URL('client-load.ts', import.meta.url), [JSON.stringify(load)], {
    execArgv: ['--expose-gc'],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  if (client.stdout === null) throw new Error('its output is not a pipe');
  const figures: ClientRound[] = [];
  for await (const line of createInterface({ input: client.stdout })) {
    log(line);
    figures.push(JSON.parse(line) as ClientRound);
  }
  client.kill();
  receiver.kill();
  const measured = figures.slice(1);
  const samples = (figure: keyof ClientRound): number[] => measured.map((round) => round[figure]);
  return [
    {
      ...result('client: track(), µs a call', samples('trackUs'), { atMost: 5 }),
      absolutes: { 'CPU µs a call': medianOf(samples('trackCpuUs')).toFixed(2) },
    },
    result(
      'client: 100,000 queued calls of 430 bytes, MB',
      samples('queuedBytes').map((bytes) => bytes / 1_000_000),
      { atMost: 100 },
    ),
    {
      ...result('client: calls a second while flushing', samples('callsPerSecond'), {
        atLeast: 50_000,
      }),
      absolutes: { 'CPU µs a call': medianOf(samples('flushCpuUs')).toFixed(2) },
    },
  ];
}

type Bound = { readonly atMost: number } | { readonly atLeast: number };

function result(name: string, samples: readonly number[], bound: Bound): BenchResult {
  const median = medianOf(samples);
  const isMost = 'atMost' in bound;
  return {
    name,
    required: isMost ? `at most ${bound.atMost}` : `at least ${bound.atLeast}`,
    ratios: samples,
    median,
    spread: [Math.min(...samples), Math.max(...samples)],
    passed: isMost ? median <= bound.atMost : median >= bound.atLeast,
    absolutes: {},
  };
}

if (import.meta.main) {
  const rounds = Number(process.argv[2] ?? 5);
  console.log(JSON.stringify(await benchClient({ rounds, log: console.log }), null, 2));
}
