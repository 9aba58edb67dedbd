import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Resumed } from '../../src/dead-letter/resume.ts';
import { startReceiver, type Receiver } from '../../src/dev/receiver.ts';
import { eventually } from '../harness/eventually.ts';
import { install, type Installation, type RunningRole } from '../harness/postrider.ts';

const arrived: string[] = [];
/** The destinations whose endpoint is away. */
const away = new Set<string>();
let receiver: Receiver;
let postrider: Installation;
let roles: RunningRole[] = [];
let resources: readonly object[] = [];

async function run(args: readonly string[], stdin: string = ''): Promise<string> {
  const { code, stdout, stderr } = await postrider.run(args, { stdin });
  assert.equal(code, 0, stderr);
  return stdout;
}

async function produce(...messageIds: readonly string[]): Promise<void> {
  const calls = messageIds.map((messageId) =>
    JSON.stringify({ type: 'identify', messageId, userId: messageId, traits: { plan: 'gold' } }),
  );
  await run(['produce', '--source', 'shop'], calls.join('\n'));
}

async function fates(destination: string): Promise<string[]> {
  const lines = await run(['attempts', destination, '-o', 'json']);
  return lines.split('\n').flatMap((line) => {
    if (line === '') return [];
    const { kind, messageId } = JSON.parse(line) as Record<'kind' | 'messageId', string>;
    return `${messageId} ${kind}`;
  });
}

before(async () => {
  receiver = await startReceiver({
    port: 0,
    answer: ({ path, headers }) => {
      if (away.has(path.slice(1))) return { status: 503, body: 'moving house' };
      arrived.push(`${path} ${String(headers['idempotency-key'])}`);
      return { status: 200 };
    },
  });
  postrider = await install({ RETRY_TIERS: '5m' });
  await run(['topics', '--create']);
  resources = [
    { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] },
    ...['crm', 'ads'].map((id) => ({
      kind: 'Destination',
      id,
      name: id,
      sources: ['shop'],
      idempotencyHeader: 'Idempotency-Key',
      webhooks: [{ url: `${receiver.url}/${id}` }],
    })),
  ];
  await run(['apply', '-f', '-'], JSON.stringify(resources));
  roles = await Promise.all([postrider.start('router'), postrider.start('delivery')]);
});

after(async () => {
  await Promise.all(roles.map((role) => role.kill('SIGKILL')));
  await receiver.close();
});

test('a paused destination gets nothing and loses nothing; resumed, it gets what was kept, once', async () => {
  assert.match(
    await run(['pause', 'crm']),
    /^destination crm is paused: its events are kept for 14d, and `postrider resume crm` sends them$/m,
  );
  assert.match(await run(['pause', 'crm']), /^destination crm is paused already, since \S+Z$/m);
  const again = JSON.parse(await run(['pause', 'crm', '-o', 'json'])) as Record<string, unknown>;
  assert.equal(again['wasPaused'], true);
  await eventually(async () => {
    assert.match(await run(['status']), /^crm +paused /m);
  });
  // What comes before the worker has heard of it is delivered.
  await eventually(async () => {
    const probe = `probe-${arrived.length}`;
    await produce(probe);
    await eventually(() => {
      assert.ok(arrived.includes(`/ads ${probe}`));
    });
    // Of an earlier probe, as a rule: lines are written a moment later.
    assert.ok((await fates('crm')).some((each) => each.endsWith(' kept')));
  });
  await produce('m1', 'm2', 'm3');
  await eventually(async () => {
    const kept = await fates('crm');
    for (const id of ['m1', 'm2', 'm3']) {
      assert.ok(arrived.includes(`/ads ${id}`));
      assert.ok(kept.includes(`${id} kept`));
    }
  });
  assert.deepEqual(
    arrived.filter((each) => /^\/crm m/.test(each)),
    [],
  );

  const said = await run(['resume', 'crm']);
  assert.match(said, /^destination crm is resumed, after a pause since \S+Z$/m);
  assert.match(said, /^REASON +DESTINATION +EVENTS\npaused +crm +\d+$/m);
  await produce('m4');
  await eventually(() => {
    for (const id of ['m1', 'm2', 'm3', 'm4'])
      assert.equal(arrived.filter((each) => each === `/crm ${id}`).length, 1, id);
  });
});

test('what waits for five minutes goes out in seconds once its endpoint is mended and retried, and nothing else does', async () => {
  away.add('crm').add('ads');
  const ids = Array.from({ length: 40 }, (_, n) => `wait-${n}`);
  await produce(...ids);
  await eventually(async () => {
    for (const destination of ['crm', 'ads'])
      assert.match(await run(['status', destination]), /40 in retry\.5m/);
  });
  const early = await postrider.run(['retry', 'ads', 'crm']);
  assert.equal(early.code, 1);
  assert.match(
    early.stdout,
    /^destination crm: event wait-\d+, attempt 2 failed: .*503.* "moving house" in \d+ ms; what waits stays where it is until the endpoint takes an event$/m,
  );
  assert.match(early.stderr, /no event was taken by ads, crm$/m);
  away.delete('crm');
  const said = JSON.parse(await run(['retry', 'crm', '-o', 'json'])) as {
    destinations: { destination: string; answer: { outcome: string } | null }[];
  };
  assert.deepEqual(
    said.destinations.map(({ destination, answer }) => [destination, answer?.outcome]),
    [['crm', 'delivered']],
  );
  await eventually(() => {
    assert.deepEqual(
      ids.map((id) => arrivals('crm', id)),
      ids.map(() => 1),
    );
  }, 10_000);
  assert.deepEqual(
    ids.map((id) => arrivals('ads', id)),
    ids.map(() => 0),
  );
  // What was put off before a pause goes out with its end.
  await run(['pause', 'ads']);
  const { code, stderr } = await postrider.run(['retry', 'ads']);
  assert.equal(code, 1);
  assert.match(stderr, /destination ads: it is paused; `postrider resume ads` sends what waits$/m);
  away.delete('ads');
  await run(['resume', 'ads']);
  await eventually(() => {
    assert.deepEqual(
      ids.map((id) => arrivals('ads', id)),
      ids.map(() => 1),
    );
  }, 10_000);
});

async function pauseAndKeep(destination: string, ...messageIds: readonly string[]): Promise<void> {
  await run(['pause', destination]);
  // What comes before the worker has heard of it is delivered.
  await eventually(async () => {
    await produce(`unheard-${arrived.length}`);
    await eventually(async () => {
      assert.match((await fates(destination)).at(-1) ?? '', / kept$/);
    }, 5_000);
  });
  await produce(...messageIds);
  await eventually(async () => {
    const kept = await fates(destination);
    for (const id of messageIds) assert.ok(kept.includes(`${id} kept`));
  });
}

function arrivals(destination: string, id: string): number {
  return arrived.filter((each) => each === `/${destination} ${id}`).length;
}

test('a resume that is cut off is told by status, lets others for its destination wait, and goes on with them', async () => {
  await pauseAndKeep('crm', 'cut-1', 'cut-2', 'cut-3');
  await pauseAndKeep('ads', 'later-1');
  // It lasts until it is killed.
  const first = postrider.begin(['resume', 'crm', '--rate', '1/m']);
  await eventually(() => {
    assert.match(first.stdout(), /^destination crm is resumed/m);
  });
  const second = postrider.begin(['resume', '--all', '--yes']);
  await eventually(() => {
    assert.match(
      second.stderr(),
      /^waiting until another `resume` of one of these destinations has ended$/m,
    );
  });
  assert.match(await run(['status', 'ads']), /^ads is paused/m);
  first.kill('SIGKILL');
  await first.ended;
  assert.match(
    await run(['status', 'crm']),
    /^resumed since \S+Z; events that were kept may be left: if no `postrider resume crm` runs, one sends them$/m,
  );
  const { code, stdout } = await second.ended;
  assert.equal(code, 0);
  assert.match(stdout, /^destination ads is resumed, after a pause since \S+Z$/m);
  assert.match(stdout, /^destination crm was not paused; sending what is still kept for it$/m);
  assert.doesNotMatch(await run(['status', 'crm']), /may be left/);
  await eventually(() => {
    for (const id of ['cut-1', 'cut-2', 'cut-3']) assert.ok(arrivals('crm', id) > 0, id);
    assert.equal(arrivals('ads', 'later-1'), 1);
  });
});

test('different destinations are resumed at the same time, and each gets what is its own', async () => {
  await pauseAndKeep('crm', 'slow-1', 'slow-2');
  await pauseAndKeep('ads', 'quick-1');
  const slow = postrider.begin(['resume', 'crm', '--rate', '6/m']);
  await eventually(() => {
    assert.match(slow.stdout(), /^destination crm is resumed/m);
  });
  const { destinations, sent } = JSON.parse(await run(['resume', 'ads', '-o', 'json'])) as Resumed;
  assert.deepEqual(
    destinations.map(({ destination, isLeft }) => [destination, isLeft]),
    [['ads', false]],
  );
  assert.ok(sent >= 1, String(sent));
  await eventually(() => {
    assert.equal(arrivals('ads', 'quick-1'), 1);
  });
  slow.kill('SIGINT');
  const { code, stderr } = await slow.ended;
  assert.equal(code, 1, stderr);
  await run(['resume', 'crm']);
  await eventually(() => {
    for (const id of ['slow-1', 'slow-2']) assert.equal(arrivals('crm', id), 1, id);
  });
  // Of the pause before.
  for (const id of ['m1', 'm2', 'm3', 'm4']) assert.equal(arrivals('crm', id), 1, id);
});

test('a resume ends when its destination is paused again, and what is left is kept', async () => {
  await pauseAndKeep('crm', 'again-1', 'again-2', 'again-3', 'again-4');
  const resuming = postrider.begin(['resume', 'crm', '--rate', '1/s']);
  await eventually(() => {
    assert.match(resuming.stdout(), /^destination crm is resumed/m);
  });
  await run(['pause', 'crm']);
  assert.equal((await resuming.ended).code, 0);
  assert.match(
    resuming.stderr(),
    /left out, because their destination is paused and they would only be kept: \d+ crm; `postrider resume` ends the pause$/m,
  );
  await run(['resume', 'crm']);
  await eventually(() => {
    for (const id of ['again-1', 'again-2', 'again-3', 'again-4'])
      assert.ok(arrivals('crm', id) > 0, id);
  });
});

test('what a resume leaves out, because its destination is disabled, is not forgotten', async () => {
  await pauseAndKeep('ads', 'disabled-1');
  const [shop, crm, ads] = resources;
  await run(['apply', '-f', '-'], JSON.stringify([shop, crm, { ...ads, enabled: false }]));
  const resumed = await postrider.run(['resume', 'ads']);
  assert.equal(resumed.code, 0, resumed.stderr);
  assert.match(
    resumed.stderr,
    /left out, because their destination is disabled .*: \d+ ads; `postrider resume` sends them once that has changed$/m,
  );
  assert.match(
    await run(['status', 'ads']),
    /^resumed since \S+Z; events that were kept may be left/m,
  );
  await run(['apply', '-f', '-'], JSON.stringify(resources));
  await run(['resume', 'ads']);
  assert.doesNotMatch(await run(['status', 'ads']), /may be left/);
  await eventually(() => {
    assert.equal(arrivals('ads', 'disabled-1'), 1);
  });
});

test('a destination that has the id of a deleted one is not paused, and gets nothing of what was kept for that one', async () => {
  await pauseAndKeep('ads', 'former-1', 'former-2');
  const { code, stderr } = await postrider.run(['delete', 'destination', 'ads', '--yes']);
  assert.equal(code, 0, stderr);
  assert.match(
    stderr,
    /^Destination ads: events that are kept for it are not sent any more; `postrider resume ads` sends them before it is deleted$/m,
  );
  const [shop, crm, ads] = resources;
  const second = { ...ads, webhooks: [{ url: `${receiver.url}/second` }] };
  await run(['apply', '-f', '-'], JSON.stringify([shop, crm, second]));
  await eventually(async () => {
    assert.match(await run(['status', 'ads']), /^ads is (ok|unknown)/m);
  });
  const resumed = await postrider.run(['resume', 'ads']);
  assert.equal(resumed.code, 0, resumed.stderr);
  assert.match(
    resumed.stderr,
    /^\d+ events left out, because they are of an earlier destination of this id: \d+ ads$/m,
  );
  await pauseAndKeep('ads', 'latter-1');
  await run(['resume', 'ads']);
  await eventually(() => {
    assert.equal(arrivals('second', 'latter-1'), 1);
  });
  assert.deepEqual(
    ['former-1', 'former-2'].map((id) => arrivals('second', id)),
    [0, 0],
  );
});

test('only what exists can be paused', async () => {
  for (const command of ['pause', 'resume']) {
    const { code, stderr } = await postrider.run([command, 'crn']);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^postrider: there is no destination crn; did you mean crm\? Known are: ads, crm$/m,
    );
  }
  for (const which of [[], ['crm', '--all']]) {
    const { code, stderr } = await postrider.run(['resume', ...which]);
    assert.equal(code, 2);
    assert.match(stderr, /^postrider: name destinations, or give --all$/m);
  }
  assert.match((await postrider.run(['resume', '--all'])).stderr, /^no destination is paused$/m);
});
