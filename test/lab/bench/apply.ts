import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beginCommand, type Environment } from '../../harness/run-command.ts';
import { medianOf, summarize, type BenchResult } from './measure.ts';

const destinations = 50_000;
const rounds = 3;
const mostFirstSeconds = 30;
const mostUnchangedSeconds = 10;

export interface ApplyBenchOptions {
  readonly brokers: readonly string[];
  readonly prefix: string;
  readonly log?: (line: string) => void;
}

/**
 * How long `apply` takes of 50,000 signed destinations of customers in a JSON file: of the first time, and of one that
 * changes nothing. Each is a process of its own, from its start to its end.
 */
export async function benchApply(options: ApplyBenchOptions): Promise<BenchResult[]> {
  const { brokers, prefix, log = () => undefined } = options;
  const folder = await mkdtemp(path.join(tmpdir(), 'postrider-bench-'));
  const file = path.join(folder, 'destinations.json');
  await writeFile(file, JSON.stringify(resources()));
  const seconds: { readonly first: number; readonly unchanged: number }[] = [];
  try {
    for (let round = 0; round < rounds; round += 1) {
      const env = environment(brokers, `${prefix}${round}.`);
      await timed(['topics', '--create'], env);
      const first = await timed(['apply', '-f', file], env);
      const unchanged = await timed(['apply', '-f', file], env);
      seconds.push({ first, unchanged });
      log(`first ${first.toFixed(1)} s, unchanged ${unchanged.toFixed(1)} s`);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
  return [
    resultOf('apply, a first 50,000 destinations: seconds', mostFirstSeconds, seconds, 'first'),
    resultOf('apply, 50,000 unchanged: seconds', mostUnchangedSeconds, seconds, 'unchanged'),
  ];
}

function resultOf<K extends string>(
  name: string,
  most: number,
  seconds: readonly Readonly<Record<K, number>>[],
  which: K,
): BenchResult {
  const samples = seconds.map((each) => each[which]);
  const passed = medianOf(samples) <= most;
  return { name, ...summarize(samples), required: `at most ${most}`, passed, absolutes: {} };
}

function resources(): readonly object[] {
  const source = { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] };
  const made = Array.from({ length: destinations }, (_, index) => ({
    kind: 'Destination',
    id: `customer-${index}`,
    name: `Customer ${index}`,
    customer: `acme-${Math.floor(index / 3)}`,
    sources: ['shop'],
    sharedSecret: `whsec_${Buffer.alloc(24, index % 250).toString('base64')}`,
    signature: 'standard',
    webhooks: [
      {
        url: `https://customer-${index}.example.com/hook`,
        headers: { Authorization: `Bearer t-${index}` },
      },
    ],
    filter: { 'properties.account': `acme-${index}` },
    eventNames: ['Order Completed'],
  }));
  return [source, ...made];
}

function environment(brokers: readonly string[], prefix: string): Environment {
  return {
    PATH: process.env['PATH'] ?? '',
    HOME: process.env['HOME'] ?? '',
    KAFKA_BROKERS: brokers.join(','),
    TOPIC_PREFIX: prefix,
    TOPIC_PARTITIONS: '3',
    TOPIC_REPLICATION_FACTOR: '1',
    SECRET_KEY: Buffer.alloc(32, 3).toString('base64'),
  };
}

async function timed(args: readonly string[], env: Environment): Promise<number> {
  const startMs = performance.now();
  const begun = beginCommand(args, env);
  begun.stdin.end();
  const { code, stderr } = await begun.ended;
  if (code !== 0) throw new Error(`${args.join(' ')}: ${stderr}`);
  return (performance.now() - startMs) / 1_000;
}
