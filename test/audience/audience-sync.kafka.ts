import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { aloneWith } from '../../src/cli/audiences/one-at-a-time.ts';
import { createContext, type Context } from '../../src/cli/context.ts';
import { withAdmin } from '../../src/kafka/admin.ts';
import { createKafka } from '../../src/kafka/client.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { eventually } from '../harness/eventually.ts';
import { install, type Ended, type Installation } from '../harness/postrider.ts';
import { readAll } from '../kafka/topics.ts';

let installation: Installation;
let folder: string;
let members: string;
let textfile: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postrider-test-'));
  members = join(folder, 'members.csv');
  textfile = join(folder, 'audience.prom');
  installation = await install({
    AUDIENCE_CHECKPOINT_DIR: join(folder, 'checkpoints'),
    AUDIENCE_FILES_DIR: folder,
  });
  await writeFile(
    join(folder, 'resources.yaml'),
    `
kind: Source
id: shop
name: Web shop
writeKeys: [wk_shop]
---
kind: Destination
id: crm
name: CRM
sources: [shop]
webhooks: [{ url: http://127.0.0.1:9/ }]
---
kind: Audience
id: big-spenders
name: Big Spenders
source: shop
members: { file: ${members}, userId: customer }
---
kind: ComputedTrait
id: ltv
name: Lifetime Value
source: shop
values: { file: ${join(folder, 'gone.csv')}, userId: customer, value: total }
`,
  );
  await succeed(['topics', '--create']);
  await succeed(['apply', '-f', join(folder, 'resources.yaml')]);
});

after(() => rm(folder, { recursive: true }));

async function succeed(args: readonly string[]): Promise<Ended> {
  const ended = await installation.run(args);
  assert.equal(ended.code, 0, ended.stderr);
  return ended;
}

async function sync(...args: readonly string[]): Promise<Ended> {
  return installation.run(['audience-sync', 'big-spenders', ...args]);
}

test('from a file to identify calls: a dry run first, then all, then what changed', async () => {
  const rowsOfFile = 'customer\n007\nada\nada\n\nbob\n';
  await writeFile(members, `${rowsOfFile}Total\n`);
  const dry = await sync('--dry-run');
  assert.equal(dry.code, 0, dry.stderr);
  const [counts, rows, ...sample] = dry.stdout.trimEnd().split('\n');
  assert.match(
    counts ?? '',
    /^Audience big-spenders: 4 added, 0 removed; 4 users in .* s \(dry run: nothing was sent\)$/,
  );
  assert.match(rows ?? '', /1 repeated a user; 1 ids look like no users, such as NULL/);
  assert.deepEqual(sample.sort(), ['  + 007', '  + Total', '  + ada', '  + bob']);
  await writeFile(members, rowsOfFile);

  const asked = await sync();
  assert.equal(asked.code, 1);
  assert.match(
    asked.stderr,
    /was never synced: its first sync would send `big_spenders` for 3 users; nothing was sent\. If that is right, use --yes/,
  );
  assert.match(
    (await sync('--yes')).stdout,
    /^Audience big-spenders: 3 added, 0 removed; 3 users in /,
  );
  await writeFile(members, 'customer\n007\nada\ncleo\n');
  const refused = await sync();
  assert.match(
    refused.stderr,
    /would lose 1 of 3 users \(34 %\), allowed: 20 %; .*--max-removed 34/,
  );
  const { stdout, stderr } = await sync('--json', '--textfile', textfile, '--max-removed', '34');
  const report = JSON.parse(stdout) as { audiences: Record<string, unknown>[] };
  const { added, removed, trait, rebuilt } = report.audiences[0] ?? {};
  assert.deepEqual([added, removed, trait, rebuilt], [1, 1, 'big_spenders', undefined], stderr);

  const { KAFKA_BROKERS: brokers = '', TOPIC_PREFIX: prefix = '' } = installation.environment;
  const kafka = createKafka({ brokers: brokers.split(','), clientId: 'test' }, silentLogger);
  const calls = async (): Promise<string[]> =>
    (await readAll(kafka, `${prefix}ingest.audience`)).map(({ value }) => {
      const { userId, traits } = JSON.parse(String(value)) as { userId: string; traits: unknown };
      return `${userId} ${JSON.stringify(traits)}`;
    });
  // Kafka says that a transaction is committed before its partitions show it.
  await eventually(async () => {
    assert.deepEqual((await calls()).sort(), [
      '007 {"big_spenders":true}',
      'ada {"big_spenders":true}',
      'bob {"big_spenders":false}',
      'bob {"big_spenders":true}',
      'cleo {"big_spenders":true}',
    ]);
  });
});

test('metrics for a textfile collector keep the last success when a sync fails', async () => {
  const success =
    /^postrider_audience_sync_last_success_timestamp_seconds\{audience="big-spenders"\} \d{10}/m;
  const before = await readFile(textfile, 'utf8');
  assert.match(before, success);
  assert.match(
    before,
    /^postrider_audience_sync_changes\{audience="big-spenders",change="added"\} 1$/m,
  );
  await writeFile(members, 'customer\n');
  const { code, stderr } = await sync('--textfile', textfile);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^postrider: the data of Audience big-spenders has no users, .* use --allow-empty\n$/,
  );
  const after = await readFile(textfile, 'utf8');
  assert.equal(success.exec(after)?.[0], success.exec(before)?.[0]);
  assert.match(after, /^postrider_audience_sync_failed\{audience="big-spenders"\} 1$/m);
});

test('one of several that cannot be read keeps no other from its turn', async () => {
  await writeFile(members, 'customer\n007\nada\ncleo\n');
  const { code, stdout, stderr } = await installation.run(['audience-sync']);
  assert.equal(code, 1);
  assert.match(stdout, /^Audience big-spenders: 0 added, 0 removed; /);
  assert.match(stderr, /gone\.csv/);
  assert.match(stderr, /1 of 2 were not synced/);
});

test('metrics can be scraped while a sync runs', async () => {
  const running = installation.begin(['audience-sync', 'big-spenders', '--serve-metrics']);
  const url = await eventually(() => {
    const found = /metrics on (\S+)/.exec(running.stderr())?.[1];
    assert.ok(found, running.stderr());
    return found;
  });
  const text = await (await fetch(url)).text();
  assert.match(text, /^# TYPE postrider_audience_sync_sent_total counter$/m);
  assert.equal((await running.ended).code, 0);
});

/** As a sync that reads until it is told to end. */
async function beginLongSync(context: Context, id: string): Promise<() => Promise<void>> {
  const begun = Promise.withResolvers<undefined>();
  const end = Promise.withResolvers<undefined>();
  const running = aloneWith(context, id, async () => {
    begun.resolve(undefined);
    await end.promise;
  });
  await begun.promise;
  await eventually(async () => {
    assert.equal(await membersOfGroup(context, id), 1);
  });
  return async () => {
    end.resolve(undefined);
    await running;
  };
}

test('a sync by hand is refused while the one on schedule runs, whatever its flags, and the other way round', async () => {
  const context = createContext(installation.environment);
  const end = await beginLongSync(context, 'big-spenders');
  const [refused, full, dry] = await Promise.all([
    sync('--yes'),
    sync('--full', '--destination', 'crm', '--max-removed', '100'),
    sync('--dry-run'),
  ]);
  for (const { code, stderr } of [refused, full]) {
    assert.equal(code, 1);
    assert.match(stderr, /another sync of it is running or was killed; waiting to see which/);
    assert.match(
      stderr,
      /^postrider: big-spenders: another sync of it is running and goes on; this one has done nothing/m,
    );
  }
  assert.equal(dry.code, 0, dry.stderr);
  await end();
  // Whoever ends leaves at once, so the next one does not wait.
  const { code, stderr } = await sync('--yes');
  assert.equal(code, 0, stderr);
  assert.doesNotMatch(stderr, /another sync/);
});

test('an audience that is deleted while those before it are synced is not synced after all', async () => {
  const lateMembers = join(folder, 'late.csv');
  await writeFile(lateMembers, 'customer\n007\nada\n');
  const late = `
kind: Audience
id: late
name: Late
source: shop
members: { file: ${lateMembers}, userId: customer }
`;
  const { code, stderr } = await installation.run(['apply', '-f', '-'], { stdin: late });
  assert.equal(code, 0, stderr);
  await succeed(['audience-sync', 'late', '--yes']);
  const context = createContext(installation.environment);
  const end = await beginLongSync(context, 'big-spenders');
  const both = installation.begin(['audience-sync', 'big-spenders', 'late', '--yes']);
  await eventually(() => {
    assert.match(both.stderr(), /^big-spenders: another sync of it is running/m);
  });
  await succeed(['delete', 'audience', 'late', '--retire', '--yes']);
  await end();
  const ended = await both.ended;
  assert.equal(ended.code, 1);
  assert.match(ended.stderr, /^postrider: there is no audience or computed trait late/m);
  const { KAFKA_BROKERS: brokers = '', TOPIC_PREFIX: prefix = '' } = installation.environment;
  const kafka = createKafka({ brokers: brokers.split(','), clientId: 'test' }, silentLogger);
  const told = (await readAll(kafka, `${prefix}ingest.audience`)).flatMap(({ value }) => {
    const { userId, traits } = JSON.parse(String(value)) as { userId: string; traits: object };
    return 'late' in traits ? [`${userId} ${String(traits.late)}`] : [];
  });
  assert.deepEqual(told.sort(), ['007 false', '007 true', 'ada false', 'ada true']);
});

test('what cannot be meant is refused before anything is read', async () => {
  const refusals: readonly (readonly [args: readonly string[], code: number, says: RegExp])[] = [
    [['nobody'], 1, /no audience or computed trait nobody; known are: big-spenders, ltv/],
    [['ltv', '--destination', 'crm'], 2, /--destination is allowed only with --full/],
    [['ltv', '--full', '--destination', 'dwh'], 1, /does not go to destination dwh; allowed: crm/],
    [['ltv', '--max-removed', '200'], 2, /Allowed: a whole number from 0 to 100/],
    [['ltv', '--retire', '--keep-traits'], 2, /either --retire or --keep-traits, not both/],
    [
      ['ltv', '--retire', '--dry-run'],
      2,
      /--retire cannot be used with --dry-run; nothing was done/,
    ],
    [['ltv', '--keep-traits', '--dry-run'], 2, /--keep-traits cannot be used with --dry-run/],
    [['ltv', '--retire', '--full'], 2, /--retire cannot be used with --full/],
  ];
  await Promise.all(
    refusals.map(async ([args, expected, says]) => {
      const { code, stderr } = await installation.run(['audience-sync', ...args]);
      assert.equal(code, expected, stderr);
      assert.match(stderr, says);
    }),
  );
});

test('what the last syncs did is shown, refused ones too', async () => {
  const { stdout } = await succeed(['audience-sync', 'big-spenders', '--history']);
  const [head, ...lines] = stdout.trimEnd().split('\n');
  assert.match(head ?? '', /^STARTED +TRAIT +WHAT +OUTCOME +USERS +CHANGES +TOOK +WHY$/);
  assert.ok(
    lines.some((line) => / big_spenders +sync +done +3 +\+3 /.test(line)),
    stdout,
  );
  assert.ok(
    lines.some((line) => / refused .* would lose 1 of 3 users /.test(line)),
    stdout,
  );
  const shown = await succeed(['get', 'audience', 'big-spenders']);
  assert.match(shown.stdout, /^ID +NAME[^]*\n\nSTARTED +TRAIT/);
});

test('an audience whose users have its trait goes only when somebody says what becomes of that', async () => {
  const kept = await installation.run(['delete', 'audience', 'big-spenders']);
  assert.equal(kept.code, 1);
  assert.match(
    kept.stderr,
    /because 3 users have big_spenders from it: --retire takes .*, and with --keep-traits they keep it/,
  );
  await writeFile(
    join(folder, 'rest.yaml'),
    'kind: Source\nid: shop\nname: Web shop\nwriteKeys: [wk_shop]\n',
  );
  const pruned = await installation.run(['apply', '-f', join(folder, 'rest.yaml'), '--prune']);
  assert.match(
    pruned.stderr,
    /Audience big-spenders cannot be deleted without --retire or --keep-traits/,
  );

  await writeFile(
    join(folder, 'gold.yaml'),
    `{ kind: Audience, id: big-spenders, name: Gold, trait: gold, source: shop, members: { file: members.csv, userId: customer } }`,
  );
  const renamed = await succeed(['apply', '-f', join(folder, 'gold.yaml'), '--rename']);
  assert.match(
    renamed.stdout,
    /3 users will get gold; 3 users keep big_spenders unless you retire it with `audience-sync big-spenders --retire`/,
  );
  await succeed(['audience-sync', 'big-spenders', '--yes']);
  const retired = await succeed(['audience-sync', 'big-spenders', '--retire']);
  assert.match(
    retired.stdout,
    /^Audience big-spenders: big_spenders was taken back from 3 users, at source shop$/m,
  );
  const gone = await succeed(['delete', 'audience', 'big-spenders', '--retire', '--yes']);
  assert.match(
    gone.stdout,
    /^delete Audience big-spenders\nAudience big-spenders: gold was taken back from 3 users/,
  );
  const again = await installation.run(['delete', 'audience', 'big-spenders']);
  assert.match(again.stderr, /there is no Audience big-spenders/);
  assert.deepEqual(
    (await readdir(join(folder, 'checkpoints'))).filter((name) => name.endsWith('big-spenders')),
    [],
  );
});

test('what holds user ids is readable by its owner only', async () => {
  await writeFile(
    join(folder, 'own.yaml'),
    `{ kind: Audience, id: own, name: Own, source: shop, members: { file: members.csv, userId: customer } }`,
  );
  await succeed(['apply', '-f', join(folder, 'own.yaml')]);
  await succeed(['audience-sync', 'own', '--yes']);
  const { TOPIC_PREFIX: prefix = '' } = installation.environment;
  const own = join(folder, 'checkpoints', `${prefix}own`);
  assert.equal((await stat(own)).mode & 0o777, 0o700);
  assert.equal((await stat(join(own, 'checkpoint.duckdb'))).mode & 0o777, 0o600);
});

test('while a sync runs, others can see that it does', async () => {
  const lines = Array.from({ length: 200_000 }, (_, i) => `user-${i}\n`);
  await writeFile(members, `customer\n${lines.join('')}`);
  const context = createContext(installation.environment);
  const writing = installation.begin(['audience-sync', 'own', '--max-added', '999999']);
  let isOver = false;
  const ended = writing.ended.finally(() => {
    isOver = true;
  });
  await eventually(async () => {
    assert.ok(isOver || (await membersOfGroup(context, 'own')) === 1);
  });
  assert.equal(isOver, false, writing.stderr());
  await ended;
  assert.equal(await membersOfGroup(context, 'own'), 0);
});

test('each audience is retired or synced by what it is when its turn comes', async () => {
  await writeFile(join(folder, 'few.csv'), 'customer\n007\nada\n');
  const flip = (changes: string): string =>
    `{ kind: Audience, id: flip, name: Flip, source: shop, members: { file: few.csv, userId: customer }, ${changes} }`;
  const apply = async (...documents: readonly string[]): Promise<void> => {
    const stdin = documents.join('\n---\n');
    const { code, stderr } = await installation.run(['apply', '-f', '-', '--rename'], { stdin });
    assert.equal(code, 0, stderr);
  };
  const first = `{ kind: Audience, id: first, name: First, source: shop, members: { file: few.csv, userId: customer } }`;
  await apply(first, flip('trait: heads'));
  await succeed(['audience-sync', 'first', 'flip', '--yes']);
  await apply(flip('trait: tails'));

  const context = createContext(installation.environment);
  const meanwhile = async (
    args: readonly string[],
    change: () => Promise<void>,
  ): Promise<Ended> => {
    const end = await beginLongSync(context, 'first');
    const running = installation.begin(['audience-sync', 'first', 'flip', ...args]);
    await eventually(() => {
      assert.match(running.stderr(), /^first: another sync of it is running/m);
    });
    await change();
    await end();
    return running.ended;
  };
  const retired = await meanwhile(['--retire'], () => apply(flip('trait: heads')));
  assert.equal(retired.code, 0, retired.stderr);
  assert.match(retired.stdout, /^Audience flip: no user has a former trait$/m);

  const ads = `{ kind: Destination, id: ads, name: Ads, sources: [shop], webhooks: [{ url: http://127.0.0.1:9/ads }] }`;
  const full = await meanwhile(['--full', '--destination', 'crm'], () =>
    apply(ads, flip('trait: heads, destinations: [ads]')),
  );
  assert.match(full.stderr, /Audience flip does not go to destination crm; allowed: ads/);
});

async function membersOfGroup(context: Context, id: string): Promise<number> {
  const group = (await context.topology()).audienceGroup(id);
  return withAdmin(context.kafka, (admin) => admin.memberCount(group));
}
