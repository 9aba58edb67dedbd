import assert from 'node:assert/strict';
import { mkdtemp, open, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import type { LinkRow, MadeLink, Redrive, RunRow } from '../../src/console/api/answers/actions.ts';
import type { Pipeline, Session } from '../../src/console/api/answers/deployment.ts';
import type {
  AttemptRow,
  DestinationDetail,
  DestinationList,
  Series,
} from '../../src/console/api/answers/destinations.ts';
import type { DeadLetter, RejectedCall, Story } from '../../src/console/api/answers/events.ts';
import type { Dated, Page } from '../../src/console/api/answers/shapes.ts';
import { hashOf } from '../../src/console/index/attempt-rows.ts';
import { version } from '../../src/ops/process.ts';
import type { Topology } from '../../src/topology.ts';
import type { Problem } from '../../src/http-api/answers.ts';
import { eventually } from '../harness/eventually.ts';
import { describedApi, type DescribedApi } from './described.ts';
import { install, type Installation, type RunningRole } from '../harness/postrider.ts';
import {
  attemptLine,
  attemptsRecord,
  deadLetterRecord,
  rejectedRecord,
  topologyOf,
  write,
} from './records.ts';

/** The console as its users have it: a process of its own, asked by HTTP. */

const destination = (id: string): object => ({
  kind: 'Destination',
  id,
  name: id,
  sources: ['shop'],
  webhooks: [{ url: 'https://crm.example/hook' }],
});
const resources = JSON.stringify([
  { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] },
  destination('described'),
  destination('killed'),
  {
    kind: 'Destination',
    id: 'crm',
    name: 'Customer <b>care</b>',
    sources: ['shop'],
    sharedSecret: 'very-secret',
    webhooks: [{ url: 'https://crm.example/hook', headers: { authorization: 'Bearer hidden' } }],
  },
]);

let postrider: Installation;
let topology: Topology;
let dir: string;
let running: RunningRole;
let api: DescribedApi;

before(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'postrider-test-'));
  postrider = await install({ CONSOLE_DATA_DIR: dir });
  topology = topologyOf(postrider);
  assert.equal((await postrider.run(['topics', '--create'])).code, 0);
  const applied = await postrider.run(['apply', '-f', '-'], { stdin: resources });
  assert.equal(applied.code, 0, applied.stderr);
  running = await startConsole();
  api = await describedApi(`${running.consoleUrl}/api/v1`);
});

after(async () => {
  await running.kill('SIGTERM');
  await rm(dir, { recursive: true, force: true });
});

/** It shows no secret, so it gets no key. */
function startConsole(): Promise<RunningRole> {
  return postrider.start('console', { SECRET_KEY: '' });
}

async function get<T>(route: string): Promise<T> {
  const response = await fetch(`${running.consoleUrl}/api/v1${route}`);
  if (!response.ok) throw new Error(`${route}: ${response.status} ${await response.text()}`);
  const answer = (await response.json()) as T;
  if (route !== '/openapi.json')
    api.check('get', new URL(response.url).pathname, response.status, answer);
  return answer;
}

async function problemAt(route: string): Promise<Problem> {
  const response = await fetch(`${running.consoleUrl}/api/v1${route}`);
  assert.equal(response.headers.get('content-type'), 'application/problem+json');
  const problem = (await response.json()) as Problem;
  assert.equal(problem.status, response.status);
  if (route !== '/nothing')
    api.check('get', new URL(response.url).pathname, response.status, problem);
  return problem;
}

async function messagesOf(query = ''): Promise<string[]> {
  const all: string[] = [];
  for (let cursor: string | undefined = ''; cursor !== undefined;) {
    const more: string = cursor === '' ? '' : `&cursor=${cursor}`;
    const page: Page<AttemptRow> = await get(`/destinations/crm/attempts?limit=500${query}${more}`);
    all.push(...page.items.map((line) => ('messageId' in line ? line.messageId : '')));
    cursor = page.next;
  }
  return all;
}

test('attempts, dead letters and rejected calls appear', async () => {
  const lines = [
    attemptLine('m-1'),
    attemptLine('m-2', {
      outcome: 'failed',
      status: 500,
      detail: 'answered 500',
      answer: '<script>',
    }),
    attemptLine('m-3', { user: 'bob' }),
  ];
  await write(postrider, [
    attemptsRecord(topology, lines),
    deadLetterRecord(topology, 'm-9', 'http-410'),
    rejectedRecord(topology, '{"writeKey":"wk","type":1}', 'invalid-type'),
  ]);
  await eventually(async () => {
    assert.deepEqual((await messagesOf()).sort(), ['m-1', 'm-2', 'm-3']);
    assert.equal((await get<Page<DeadLetter>>('/dead-letters')).items.length, 1);
    assert.equal((await get<Page<RejectedCall>>('/rejected')).items.length, 1);
  });
  assert.deepEqual(await messagesOf('&failed=true'), ['m-2']);
  assert.deepEqual(await messagesOf('&user=bob'), ['m-3']);
  assert.deepEqual(await messagesOf('&message=m-1'), ['m-1']);
  assert.deepEqual(await messagesOf('&message=m-1&user=ada'), ['m-1']);
  assert.deepEqual(await messagesOf('&message=m-1&user=bob'), []);
  assert.deepEqual(await messagesOf('&url=https://other.example/'), []);
  const { items } = await get<Page<AttemptRow>>('/destinations/crm/attempts?failed=true');
  const { seq, ...line } = items[0] ?? assert.fail();
  assert.deepEqual(line, lines[1]);
  assert.deepEqual(await messagesOf(`&after=${seq}`), ['m-3']);

  const [letter] = (await get<Page<DeadLetter>>('/destinations/crm/dead-letters?reason=http-4xx'))
    .items;
  assert.equal(letter?.messageId, 'm-9');
  assert.equal(letter.detail, 'answered 410');
  const [rejected] = (await get<Page<RejectedCall>>('/rejected?source=shop')).items;
  assert.equal(rejected?.origin.offset, 7);
  assert.equal(rejected.sample, '{"writeKey":"wk","type":1}');
});

test('a destination shows how it is, with its secrets masked', async () => {
  const list = await get<DestinationList>('/destinations?search=CARE');
  const [row] = list.items;
  assert.equal(row?.name, 'Customer <b>care</b>');
  // It delivered lately, and no worker lives that could tell how it is now.
  assert.deepEqual([row.state, list.counts.unknown, list.overview.total], ['unknown', 1, 3]);
  assert.equal(row.lastHour.successRate, 2 / 3);
  const { points } = row.lastHour;
  assert.equal(points.length, 12);
  const active = points.filter(([well]) => well > 0);
  assert.deepEqual(active, [[2, 1, 15]]);
  await eventually(async () => {
    assert.equal((await get<DestinationList>('/destinations')).items[0]?.deadLetters, 1);
  });
  const detail = await get<DestinationDetail>('/destinations/crm');
  assert.doesNotMatch(JSON.stringify(detail), /very-secret|hidden/);
  assert.match(JSON.stringify(detail.resource), /crm\.example/);
  for (const range of ['1h', '24h', '3d']) {
    const series = await get<Series>(`/destinations/crm/series?range=${range}`);
    const sum = (of: 'delivered' | 'failed'): number =>
      series.points.reduce((total, point) => total + point[of], 0);
    assert.deepEqual([sum('delivered'), sum('failed')], [2, 1], range);
    assert.equal(series.urls[0]?.url, 'https://crm.example/hook');
  }
});

test('an event is told as explain tells it, and found by its user', async () => {
  const story = await get<Story>('/events?message=m-1');
  assert.equal(story.user, 'ada');
  assert.equal(story.destinations[0]?.state, 'delivered');
  const found = await get<Page<{ messageId: string }>>('/events/search?user=ada');
  assert.deepEqual(found.items.map(({ messageId }) => messageId).sort(), ['m-1', 'm-2']);
  assert.equal((await problemAt('/events?message=nothing')).status, 404);
});

test('the pipeline shows what passed', async () => {
  const { rates, workers } = await get<Pipeline>('/pipeline');
  assert.equal(rates.find(({ stage }) => stage === 'dead-letter')?.perMinute, 1);
  assert.deepEqual(workers, []);
});

test('a bad request gets one sentence that says what is allowed', async () => {
  const details = {
    '/destinations?limit=0': 'limit is 0; allowed: a whole number from 1 to 500.',
    '/destinations?limit=many': 'limit is "many"; allowed: a whole number from 1 to 500.',
    '/destinations?colour=red': 'colour is no parameter of this request.',
    '/destinations/crm/series?range=2h': 'range is "2h"; allowed: one of 1h, 24h, 3d.',
    '/dead-letters?since=yesterday':
      'since is "yesterday"; allowed: a time in ISO 8601, such as 2026-01-31T12:00:00Z or 2026-01-31T13:00:00+01:00.',
    '/destinations/crm/attempts?cursor=WyJ4Il0':
      'cursor is not one of this list; allowed: what `next` of the page before was.',
    '/events': 'message is missing: a message id, at most 1024 characters.',
  };
  for (const [route, detail] of Object.entries(details)) {
    const problem = await problemAt(route);
    assert.deepEqual([problem.status, problem.detail], [400, detail]);
  }
  assert.equal((await problemAt('/destinations/nobody')).status, 404);
  assert.equal((await problemAt('/nothing')).status, 404);
});

test('pages may run no code but their own, and nobody else is answered', async () => {
  const response = await fetch(running.consoleUrl);
  const policy = response.headers.get('content-security-policy') ?? '';
  assert.match(policy, /default-src 'none'/);
  assert.doesNotMatch(policy, /unsafe/);
  assert.match(policy, /frame-ancestors 'none'/);
  assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
  assert.equal(response.headers.get('referrer-policy'), 'no-referrer');
  assert.equal(await statusWithHost('rebound.example'), 421);
  assert.equal(await statusWithHost(`localhost:${new URL(running.consoleUrl).port}`), 200);
});

/** `fetch` decides the header by itself. */
function statusWithHost(host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(`${running.consoleUrl}/api/v1/session`, { headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', reject)
      .end();
  });
}

test('its metrics tell what it has indexed and answered', async () => {
  const value = async (series: string): Promise<number> => {
    const text = await (await fetch(`${running.url}/metrics`)).text();
    const line = text.split('\n').find((each) => each.startsWith(`postrider_console_${series} `));
    return Number(line?.split(' ')[1]);
  };
  await eventually(async () => {
    assert.equal(await value('index_caught_up'), 1);
  });
  assert.equal(await value('indexed_total{kind="attempt"}'), 3);
  assert.equal(await value('indexed_total{kind="rejected-call"}'), 1);
  assert.ok((await value('index_bytes')) > 0);
  const refused = await value('requests_total{outcome="refused"}');
  await problemAt('/destinations/nobody');
  assert.equal(await value('requests_total{outcome="refused"}'), refused + 1);
  assert.equal(await value('requests_total{outcome="failed"}'), 0);
});

test('the API describes itself', async () => {
  const { openapi, paths } = await get<{ openapi: string; paths: object }>('/openapi.json');
  assert.match(openapi, /^3\.1/);
  for (const route of ['/destinations/{id}/attempts', '/dead-letters', '/rejected', '/pipeline'])
    assert.ok(Object.hasOwn(paths, `/api/v1${route}`), route);
});

test('every route answers as the API describes it', async () => {
  const lists = [
    '/audiences',
    '/notices',
    '/audit',
    '/runs',
    '/rejected/summary',
    '/dead-letters/summary',
  ];
  const others = [
    '/configuration',
    '/destinations/crm/dead-letters',
    '/destinations/crm/series',
    '/event-names',
  ];
  for (const route of [...lists, ...others, '/freshness']) {
    const { asOf } = await get<Dated>(route);
    assert.ok(Date.now() - Date.parse(asOf ?? '') < 60_000, route);
  }
  const { csrf, version: shown } = await get<Session>('/session');
  assert.equal(shown, version);
  const post = async (path: string, body?: object, expected = 200): Promise<unknown> => {
    const { status, url, answer } = await send(path, csrf, body);
    assert.equal(status, expected, `${path}: ${JSON.stringify(answer)}`);
    api.check('post', new URL(url).pathname, status, answer);
    return answer;
  };
  // This console has no key. One that has it is tested in a browser, by `test/e2e/console.kafka.ts`.
  const unsigned = (await post('/destinations/crm/test', undefined, 409)) as Problem;
  assert.match(unsigned.detail, /SECRET_KEY is not set/);
  await post('/destinations/described/retry');
  await post('/destinations/described/pause');
  await post('/destinations/described/resume');
  await post('/redrives', { destination: 'crm', dryRun: true });
  const { id } = (await post('/redrives', { destination: 'described' })) as Redrive;
  await eventually(async () => {
    assert.equal((await get<Redrive>(`/redrives/${id}`)).state, 'done');
  });
  await eventually(async () => {
    const { items } = await get<Page<RunRow>>('/runs');
    const begun = items.map((run) => [run.action, run.destinations, run.state, run.sent]);
    assert.deepEqual(begun, [
      ['redrive', ['described'], 'done', 0],
      ['resume', ['described'], 'done', 0],
    ]);
    assert.equal(items[0]?.id, id);
  });
  const [call] = (await get<Page<RejectedCall>>('/rejected')).items;
  assert.ok(call);
  const chosen = { places: [call.place], rate: '1000/s' };
  const { id: calls } = (await post('/rejected/redrives', chosen)) as Redrive;
  await eventually(async () => {
    const { state, sent, detail } = await get<Redrive>(`/redrives/${calls}`);
    assert.deepEqual([state, sent], ['done', 1], detail);
    const [sentCall] = (await get<Page<RejectedCall>>('/rejected')).items;
    assert.ok(sentCall?.sentAgain);
  });
  const made = (await post('/destinations/described/links', { expires: '1h' })) as MadeLink;
  await eventually(async () => {
    const { items } = await get<Page<LinkRow>>('/links');
    assert.deepEqual(
      items.map((each) => [each.id, each.destination, each.until]),
      [[made.id, 'described', made.until]],
    );
  });
  await post(`/links/${made.id}/revoke`);
  const checked = [...api.checked, 'post /destinations/{id}/test'];
  assert.deepEqual([...api.routes].sort(), checked.sort());
});

async function send(
  path: string,
  csrf: string,
  body?: object,
): Promise<{ readonly status: number; readonly url: string; readonly answer: unknown }> {
  const response = await fetch(`${running.consoleUrl}/api/v1${path}`, {
    method: 'POST',
    headers: {
      'x-csrf-token': csrf,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, url: response.url, answer: await response.json() };
}

test('two operators at once: one redrive runs, and the other is told', async () => {
  const { csrf } = await get<Session>('/session');
  const letters = Array.from({ length: 400 }, (_, n) =>
    deadLetterRecord(topology, `twice-${n}`, 'http-418'),
  );
  await write(postrider, letters);
  const selection = { destination: 'crm', reason: 'http-418' };
  const { answer } = await send('/redrives', csrf, { ...selection, dryRun: true });
  await eventually(async () => {
    const { state, found } = await get<Redrive>(`/redrives/${(answer as Redrive).id}`);
    assert.deepEqual([state, found], ['done', letters.length]);
  });
  const begun = await Promise.all([
    send('/redrives', csrf, selection),
    send('/redrives', csrf, selection),
  ]);
  // Whichever comes second is refused while the first runs, or finds nothing that was not sent.
  await eventually(async () => {
    const runs = await Promise.all(
      begun.map(({ answer }) => get<Redrive>(`/redrives/${(answer as Redrive).id}`)),
    );
    const sent = runs.reduce((sum, run) => sum + run.sent, 0);
    assert.equal(sent, letters.length, JSON.stringify(runs));
    const refused = runs.filter(({ state }) => state === 'failed');
    assert.equal(refused.length, 1);
    assert.match(refused[0]?.detail ?? '', /another redrive|is running/);
  });
});

test('a console that is killed while it indexes loses nothing and doubles nothing', async () => {
  const many = Array.from({ length: 60_000 }, (_, number) => `k-${number}`);
  const records = [];
  for (let from = 0; from < many.length; from += 100) {
    const lines = many
      .slice(from, from + 100)
      .map((id) => attemptLine(id, { destination: 'killed' }));
    records.push(attemptsRecord(topology, lines, (from / 100) % 3));
  }
  const counted = async (): Promise<number> => {
    const { points } = await get<Series>('/destinations/killed/series?range=3d').catch(() => ({
      points: [],
    }));
    return points.reduce((total, { delivered }) => total + delivered, 0);
  };
  const writing = write(postrider, records);
  for (const most of [1, 20_000, 40_000]) {
    await eventually(async () => {
      assert.ok((await counted()) >= most);
    });
    await running.kill('SIGKILL');
    running = await startConsole();
  }
  await writing;
  await eventually(async () => {
    assert.equal(await counted(), many.length);
    assert.ok((await get<DestinationList>('/destinations')).indexing.isCaughtUp);
  });
  assert.equal(await counted(), many.length);
  const seen = new Set<string>();
  for (let cursor: string | undefined = ''; cursor !== undefined;) {
    const more: string = cursor === '' ? '' : `&cursor=${cursor}`;
    const page: Page<AttemptRow> = await get(`/destinations/killed/attempts?limit=500${more}`);
    for (const line of page.items) if ('messageId' in line) seen.add(line.messageId);
    cursor = page.next;
  }
  assert.deepEqual(seen, new Set(many));
});

for (const [what, damage] of Object.entries({
  broken: async (file: string) => truncate(file, 20_000),
  scribbled: async (file: string) => {
    const handle = await open(file, 'r+');
    const { size } = await handle.stat();
    // DuckDB keeps a checksum of each 256 KB.
    for (let at = 16_384; at < size; at += 65_536) await handle.write('scribble', at);
    await handle.close();
  },
  foreign: async (file: string) => writeFile(file, 'a diary, and no database'),
}))
  test(`a ${what} file is made again from Kafka`, async () => {
    await running.kill('SIGTERM');
    const files = (await readdir(dir)).filter((name) => name.endsWith('.duckdb'));
    assert.equal(files.length, 1);
    await damage(path.join(dir, files[0] ?? ''));
    running = await startConsole();
    await eventually(async () => {
      assert.deepEqual((await messagesOf()).sort(), ['m-1', 'm-2', 'm-3']);
      assert.equal((await get<Page<DeadLetter>>('/dead-letters?reason=http-410')).items.length, 1);
    });
  });

test('two consoles do not share a folder', async () => {
  const { code, stderr } = await postrider.run(['console']);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /is open in another process; each console needs a CONSOLE_DATA_DIR of its own/,
  );
});

test('users and messages whose hashes are the same are told apart', async () => {
  const [first, second] = sameHash();
  await write(postrider, [
    attemptsRecord(topology, [
      attemptLine(first, { user: first }),
      attemptLine(second, { user: second }),
    ]),
  ]);
  await eventually(async () => {
    assert.deepEqual(await messagesOf(`&message=${first}`), [first]);
    assert.deepEqual(await messagesOf(`&user=${second}`), [second]);
    const found = await get<Page<{ messageId: string }>>(`/events/search?user=${first}`);
    assert.deepEqual(
      found.items.map(({ messageId }) => messageId),
      [first],
    );
  });
});

function sameHash(): readonly [string, string] {
  const byHash = new Map<number, string>();
  for (let number = 0; ; number += 1) {
    const text = `number-${number}`;
    const other = byHash.get(hashOf(text));
    if (other !== undefined) return [other, text];
    byHash.set(hashOf(text), text);
  }
}
