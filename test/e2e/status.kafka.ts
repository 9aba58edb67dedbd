import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { DestinationHealth, JudgedView } from '../../src/event/destination-health.ts';
import { eventually } from '../harness/eventually.ts';
import { install, type Installation, type RunningRole } from '../harness/postrider.ts';

/** Endpoints that fail in different ways, as an operator finds them with `postrider status`. */

type Shown = JudgedView & { readonly deadLetters: number };

interface Status {
  readonly workers: readonly { readonly worker: string }[];
  readonly deadLetters: number;
  readonly backlog: readonly { readonly topic: string; readonly records: number }[];
  readonly destinations: readonly Shown[];
}

const states: Readonly<Record<string, DestinationHealth>> = {
  failing: 'failing',
  dead: 'failing',
  half: 'failing',
  silent: 'failing',
  busy: 'held',
  slow: 'slow',
  limited: 'limited',
  resting: 'paused',
  off: 'disabled',
  well: 'ok',
  fussy: 'losing',
};
const slowMs = 1_500;

let server: Server;
let postrider: Installation;
let gateway: RunningRole;
let router: RunningRole;
let workers: RunningRole[] = [];
let isMended = false;
let sent = 0;
let asked = 0;

/** It refuses one event in five for good. */
function fussyAnswer(): { status: number; body: string } {
  asked += 1;
  return asked % 5 === 0 ? { status: 400, body: 'no such field' } : { status: 200, body: 'ok' };
}

/** Undefined: never. */
function answer(path: string): { status: number; body: string; afterMs?: number } | undefined {
  if (path === '/silent') return undefined;
  if (path === '/slow') return { status: 200, body: 'ok', afterMs: slowMs };
  if (path === '/refusing') return { status: 422, body: 'who are you?' };
  if (path === '/fussy') return fussyAnswer();
  if (path === '/busy') return { status: 429, body: 'slow down' };
  if (path === '/failing' && !isMended) return { status: 500, body: 'upstream timeout' };
  return { status: 200, body: 'ok' };
}

async function run(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await postrider.run(args);
  assert.equal(code, 0, stderr);
  return stdout;
}

async function status(): Promise<Status> {
  return JSON.parse(await run('status', '-o', 'json')) as Status;
}

function of({ destinations }: Status, id: string): Shown {
  return destinations.find(({ destination }) => destination === id) ?? assert.fail(id);
}

/** One call of each of three users, every second. */
async function traffic(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    sent += 1;
    const batch = ['a', 'b', 'c'].map((user) => {
      return { type: 'track', event: 'E', userId: `${user}${sent}` };
    });
    const body = JSON.stringify({ writeKey: 'wk', batch });
    await fetch(`${gateway.gatewayUrl}/v1/batch`, { method: 'POST', body });
    await delay(1_000);
  }
}

before(async () => {
  server = createServer((request, response) => {
    const answered = answer(request.url ?? '');
    if (answered === undefined) return;
    const { status: code, body, afterMs = 0 } = answered;
    request.resume().on('end', () => {
      setTimeout(() => {
        response.writeHead(code, code === 429 ? { 'retry-after': '20' } : {}).end(body);
      }, afterMs);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  postrider = await install({ RETRY_TIERS: '10s,1m' });
  await run('topics', '--create');
  const destination = (id: string, urls: readonly string[], more: object = {}): object => ({
    kind: 'Destination',
    id,
    name: id,
    sources: ['shop'],
    ...more,
    webhooks: urls.map((each) => ({ url: each })),
  });
  const resources = [
    { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] },
    ...['failing', 'busy', 'slow', 'silent', 'resting', 'well', 'fussy'].map((id) =>
      destination(id, [`${url}/${id}`]),
    ),
    destination('limited', [`${url}/well`], { rateLimit: '1/s' }),
    destination('dead', ['http://127.0.0.1:9/']),
    destination('half', [`${url}/well`, `${url}/refusing`]),
    destination('off', [`${url}/well`], { enabled: false }),
  ];
  const applied = await postrider.run(['apply', '-f', '-'], { stdin: JSON.stringify(resources) });
  assert.equal(applied.code, 0, applied.stderr);
  await run('pause', 'resting');
  [gateway, router, ...workers] = await Promise.all([
    postrider.start('gateway'),
    postrider.start('router'),
    postrider.start('delivery'),
    postrider.start('delivery'),
  ]);
});

after(async () => {
  await Promise.all([gateway, router, ...workers].map((role) => role.kill('SIGKILL')));
  server.close();
  server.closeAllConnections();
});

test('every destination shows how it is, the worst first, and what a killed worker said ends', async (t) => {
  const stop = new AbortController();
  const running = traffic(stop.signal);
  t.after(() => {
    stop.abort();
    return running;
  });

  const seen = await eventually(async () => {
    const now = await status();
    const found = now.destinations.map(({ destination, state }) => [destination, state]);
    assert.deepEqual(Object.fromEntries(found), states);
    assert.ok(of(now, 'well').perMinute.delivered > 0);
    return now;
  }, 60_000);
  assert.equal(seen.workers.length, 2);
  assert.deepEqual(
    seen.destinations.map(({ state }) => state),
    [
      'failing',
      'failing',
      'failing',
      'failing',
      'held',
      'losing',
      'slow',
      'limited',
      'paused',
      'disabled',
      'ok',
    ],
  );

  await t.test('with its last answer, what waits, since when, and when it is tried again', () => {
    const { lastAnswer, waiting, since, oldest, until, deadline } = of(seen, 'failing');
    assert.equal(lastAnswer?.status, 500);
    assert.equal(lastAnswer.answer, 'upstream timeout');
    assert.ok(waiting.total > 0, JSON.stringify(waiting));
    for (const time of [since, oldest]) assert.ok(Date.parse(time ?? '') < Date.now());
    assert.ok(Date.parse(deadline ?? '') > Date.now());
    assert.ok(until !== undefined);
    assert.match(of(seen, 'dead').lastAnswer?.detail ?? '', /ECONNREFUSED/);
    assert.match(of(seen, 'silent').lastAnswer?.detail ?? '', /^no complete answer in time$/);
    assert.ok(of(seen, 'limited').waiting.total > 0);
    assert.equal(of(seen, 'busy').lastAnswer?.answer, 'slow down');
    const refusing = of(seen, 'half').urls.find(({ url }) => url.endsWith('/refusing'));
    assert.equal(refusing?.lastAnswer?.status, 422);
    assert.ok((of(seen, 'slow').p99Ms ?? 0) > 1_200, String(of(seen, 'slow').p99Ms));
  });

  await t.test('in a table, and by itself with its URLs and attempts', async () => {
    const table = await run('status');
    assert.match(table, /^STAGE +TOPIC +RECORDS BEHIND +OLDEST$/m);
    assert.match(
      table,
      /^11 destinations: 4 failing, 1 held, 1 losing, 1 slow, 1 limited, 1 paused, 1 disabled, 1 ok$/m,
    );
    assert.match(table, /^failing +failing +\d+s +answered 500 "upstream timeout" +\d+/m);
    assert.match(table, / WAITING +DEAD +OLDEST .* AS OF *$/m);
    assert.ok(of(seen, 'fussy').deadLetters > 0);
    assert.ok(Date.now() - Date.parse(of(seen, 'fussy').asOf ?? '') < 30_000);
    const one = await run('status', 'failing');
    assert.match(one, /^as of \d+s ago, 2/m);
    assert.match(one, /^failing is failing for \d+s, since 2/);
    assert.match(one, /^http:\S+\/failing +(open|half-open) +\d+s +answered 500/m);
    assert.match(one, /attempt \d+ failed: answered 500 "upstream timeout"/);
    const { code, stderr } = await postrider.run(['status', 'nobody']);
    assert.deepEqual([code, stderr.trim()], [1, 'postrider: there is no destination nobody']);
  });

  await t.test('one that is mended is well again, within its next probe', async () => {
    isMended = true;
    await eventually(async () => {
      assert.equal(of(await status(), 'failing').state, 'ok');
    }, 60_000);
    const logs = workers.map((worker) => worker.log()).join('');
    assert.match(
      logs,
      /"destination":"failing","url":"[^"]+\/failing","since".*a destination fails"/,
    );
    assert.match(logs, /"was":"failing".*"a destination works again"/);
  });

  await t.test('nothing that a killed worker said is left after half a minute', async () => {
    stop.abort();
    const [first, second] = workers;
    await first?.kill('SIGKILL');
    await eventually(async () => {
      assert.equal((await status()).workers.length, 1);
    }, 30_000);
    assert.ok((await status()).destinations.some(({ urls }) => urls.length > 0));
    await second?.kill('SIGKILL');
    const left = await eventually(async () => {
      const now = await status();
      assert.deepEqual(now.workers, []);
      return now;
    }, 30_000);
    assert.ok(left.destinations.every(({ urls }) => urls.length === 0));
    const stillKnown = new Set(['paused', 'disabled', 'unknown']);
    assert.ok(left.destinations.every(({ state }) => stillKnown.has(state)));
    assert.match(await run('status', 'well'), /^well is unknown: no worker reports on it/m);
    const retries = left.backlog.filter(({ topic }) => topic.includes('retry.'));
    assert.ok(
      retries.some(({ records }) => records > 0),
      'what waits is known without workers',
    );
  });
});
