import { defaultLimits } from '../../../src/audience/safety.ts';
import { syncAudience } from '../../../src/audience/sync.ts';
import { createKafka } from '../../../src/kafka/client.ts';
import { systemClock } from '../../../src/ops/clock.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import {
  audienceTopology,
  changesPerTransaction,
  measureAudience,
  userSql,
  type AudienceLoad,
} from './audience-load.ts';

/** A sync, measured: argument 1 is the load as JSON; prints a measurement as JSON. */
const { brokers, prefix, audienceId, users, directory } = JSON.parse(
  process.argv[2] ?? '',
) as AudienceLoad;
await measureAudience(async () => {
  const ms: Record<string, number> = {};
  let stage = 'fencing';
  let stageMs = performance.now();
  const enter = (next: string): void => {
    if (next === stage) return;
    ms[stage] = performance.now() - stageMs;
    stage = next;
    stageMs = performance.now();
  };
  const { added, removed, rebuilt } = await syncAudience(
    {
      kafka: createKafka({ brokers, clientId: 'bench-role' }, silentLogger),
      topology: audienceTopology(prefix),
      clock: systemClock,
      log: silentLogger,
      onProgress: (progress) => {
        enter(progress.stage);
      },
    },
    {
      kind: 'Audience',
      id: audienceId,
      name: 'Big Spenders',
      trait: 'big_spenders',
      source: 'shop',
    },
    {
      filesDir: process.cwd(),
      directory,
      dryRun: false,
      full: undefined,
      connected: [],
      allowEmpty: false,
      ...defaultLimits,
      confirmFirst: () => Promise.resolve(),
      changesPerTransaction,
    },
    async (connection) => {
      await connection.run(`
        create table current as
          select ${userSql} as user_id, 'true' as value from range(${users.join(', ')}) t(i)`);
    },
  );
  enter('ended');
  return { changes: added + removed, ms, rebuilt };
});
process.exit();
