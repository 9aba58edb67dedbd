import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureTopics } from '../../../src/kafka/admin.ts';
import { createKafka } from '../../../src/kafka/client.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { audienceTopology, type AudienceLoad, type AudienceMeasurement } from './audience-load.ts';
import { compare } from './compare.ts';
import { firstLine, medianOf, type BenchResult, type Measurement } from './measure.ts';

export interface AudienceBenchOptions {
  readonly brokers: readonly string[];
  readonly prefix: string;
  /** Default 3. */
  readonly rounds?: number;
  /** Default 10 million. */
  readonly members?: number;
  readonly log?: (line: string) => void;
}

/** Of the comparison with the bare loop: about half a minute. */
const firstSyncUsers = 500_000;
const mostChurnMs = 60_000;
const mostRebuildMs = 300_000;
const mostRssMb = 1_024;
/** As in the image. */
const heapLimit = '--max-old-space-size=300';

/**
 * A first sync against the bare loops; then ten million members: an hourly sync with 1 % that came and 1 %
 * that left, and one that has lost its checkpoint.
 */
export async function benchAudience(options: AudienceBenchOptions): Promise<BenchResult[]> {
  const { brokers, prefix, rounds = 3, members = 10_000_000, log = () => undefined } = options;
  const kafka = createKafka({ brokers, clientId: 'bench' }, silentLogger);
  const directory = await mkdtemp(join(tmpdir(), 'postrider-bench-'));
  const run = async (
    script: string,
    load: Omit<AudienceLoad, 'brokers' | 'prefix'>,
  ): Promise<AudienceMeasurement> => {
    // Nobody reads what another has written.
    const topology = audienceTopology(`${prefix}${load.audienceId}.`);
    const { audienceMembers, ingestAudience, audienceSyncs, deletions } = topology.topics;
    const topics = [audienceMembers, ingestAudience, audienceSyncs, deletions];
    await ensureTopics(
      kafka,
      topology.all.filter(({ name }) => topics.includes(name)),
    );
    const measured = await measure(script, { brokers, prefix: topology.prefix, ...load });
    log(`${script} ${load.audienceId}: ${JSON.stringify(measured)}`);
    return measured;
  };
  const rates: Record<string, number[]> = {};
  const firstSync = async (arm: string, round: number): Promise<Measurement> => {
    const load = { users: [0, firstSyncUsers] as const, directory, audienceId: `${arm}-${round}` };
    const measured = await run(`audience-${arm}.ts`, load);
    (rates[arm] ??= []).push(rateOf(measured));
    return measurementOf(measured);
  };
  const compared = await compare({
    name: 'audience, first sync: changes',
    unit: 'change',
    rounds,
    stock: { required: undefined, run: (round) => firstSync('bare-stock', round) },
    own: { required: { atLeast: 0.75 }, run: (round) => firstSync('bare-own', round) },
    role: (round) => firstSync('role', round),
    log,
  });
  const changesASecond = Object.fromEntries(
    Object.entries(rates).map(([arm, all]) => [`${arm}, changes/s`, medianOf(all).toFixed(0)]),
  );
  const churn = members / 100;
  const audienceId = 'large';
  const first = await run('audience-role.ts', { audienceId, directory, users: [0, members] });
  const later = await run('audience-role.ts', {
    audienceId,
    directory,
    users: [churn, members + churn],
  });
  const rebuilt = await run('audience-role.ts', {
    audienceId,
    directory: undefined,
    users: [churn, members + churn],
  });
  await rm(directory, { recursive: true });
  const firstSyncs = {
    ...changesASecond,
    [`first sync of ${members}`]: describe(first, first.ms['all']),
  };
  return [
    ...compared.map((result) => ({
      ...result,
      absolutes: { ...result.absolutes, ...firstSyncs },
    })),
    limited(
      `audience: finding and sending ${later.changes} changes of ${members} members, of a minute`,
      later,
      (later.ms['all'] ?? NaN) - (later.ms['reading'] ?? 0),
      mostChurnMs,
    ),
    limited(
      `audience: remembering ${members} members from the topic, of five minutes`,
      rebuilt,
      rebuilt.ms['remembering'] ?? NaN,
      mostRebuildMs,
    ),
  ];
}

function limited(
  name: string,
  measured: AudienceMeasurement,
  ms: number,
  mostMs: number,
): BenchResult {
  const share = ms / mostMs;
  return {
    name,
    required: `at most 1, and ${mostRssMb} MB`,
    ratios: [share],
    median: share,
    spread: [share, share],
    passed: share <= 1 && measured.maxRssMb <= mostRssMb,
    absolutes: { took: describe(measured, ms) },
  };
}

function describe({ cpuMs, maxRssMb }: AudienceMeasurement, ms: number = NaN): string {
  const seconds = (value: number): string => `${(value / 1_000).toFixed(1)} s`;
  return `${seconds(ms)}, ${seconds(cpuMs)} of CPU time in all, ${maxRssMb.toFixed(0)} MB at most`;
}

function measurementOf({ changes, ms, cpuMs, maxRssMb }: AudienceMeasurement): Measurement {
  const rssBytes = maxRssMb * 1_048_576;
  return {
    deliveries: changes,
    cpuUs: cpuMs * 1_000,
    wallMs: ms['all'] ?? NaN,
    rssBytes,
    rssAtWarmUpBytes: rssBytes,
  };
}

function rateOf({ changes, ms }: AudienceMeasurement): number {
  return (changes / (ms['all'] ?? NaN)) * 1_000;
}

async function measure(script: string, load: AudienceLoad): Promise<AudienceMeasurement> {
  const child = fork(new URL(script, import.meta.url), [JSON.stringify(load)], {
    execArgv: [heapLimit],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const measured = JSON.parse(await firstLine(child)) as AudienceMeasurement;
  if (child.exitCode === null) await once(child, 'exit');
  return measured;
}
