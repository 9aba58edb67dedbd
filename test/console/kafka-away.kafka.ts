import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import type { Freshness, Session } from '../../src/console/api/answers/deployment.ts';
import type { AttemptRow, DestinationList } from '../../src/console/api/answers/destinations.ts';
import type { Page } from '../../src/console/api/answers/shapes.ts';
import type { AuditEntry } from '../../src/event/audit-entry.ts';
import type { Problem } from '../../src/http-api/answers.ts';
import { startBrokers } from '../harness/broker.ts';
import { eventually } from '../harness/eventually.ts';
import { testNeeding } from '../harness/needs-program.ts';
import { install, type Installation, type RunningRole } from '../harness/postrider.ts';
import { programs } from '../harness/programs.ts';
import { attemptLine, attemptsRecord, topologyOf, write } from './records.ts';

/** A broker of its own, which is killed. */
let cluster: Awaited<ReturnType<typeof startBrokers>>;
let postrider: Installation;
let running: RunningRole;
let dir: string;

before(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'postrider-test-'));
  cluster = await startBrokers(1);
  postrider = await install({ KAFKA_BROKERS: cluster.brokers.join(','), CONSOLE_DATA_DIR: dir });
  assert.equal((await postrider.run(['topics', '--create'])).code, 0);
  const stdin = JSON.stringify([
    { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] },
    {
      kind: 'Destination',
      id: 'crm',
      name: 'CRM',
      sources: ['shop'],
      webhooks: [{ url: 'https://crm.example/hook' }],
    },
  ]);
  assert.equal((await postrider.run(['apply', '-f', '-'], { stdin })).code, 0);
  running = await postrider.start('console');
});

after(async () => {
  await running.kill('SIGKILL');
  await cluster.stop();
  await rm(dir, { recursive: true, force: true });
});

/** Longer than whatever the console waits for Kafka. */
const longMs = 40_000;

async function ask(method: string, route: string, csrf = ''): Promise<Response> {
  const signal = AbortSignal.timeout(longMs);
  const headers = { 'x-csrf-token': csrf };
  return fetch(`${running.consoleUrl}/api/v1${route}`, { method, headers, signal });
}

async function get<T>(route: string): Promise<T> {
  const response = await ask('GET', route);
  assert.equal(response.status, 200, route);
  return (await response.json()) as T;
}

async function attempts(): Promise<number> {
  return (await get<Page<AttemptRow>>('/destinations/crm/attempts')).items.length;
}

test('while Kafka is away the console shows what it knows, does nothing late, and catches up afterwards', async () => {
  const topology = topologyOf(postrider);
  await write(postrider, [attemptsRecord(topology, [attemptLine('before')])]);
  await eventually(async () => {
    assert.equal(await attempts(), 1);
    assert.ok((await get<DestinationList>('/destinations')).indexing.isCaughtUp);
  });
  const { csrf } = await get<Session>('/session');
  const concerns = async (): Promise<readonly string[]> =>
    (await get<Freshness>('/freshness')).concerns.map(({ kind }) => kind);
  assert.deepEqual(await concerns(), ['no-worker']);

  await cluster.kill(1);
  await eventually(async () => {
    assert.deepEqual(await concerns(), ['kafka-away']);
  }, 10_000);
  const { items, overview, asOf, old } = await get<DestinationList>('/destinations');
  assert.deepEqual([items[0]?.state, overview.counts.ok], ['unknown', 0]);
  assert.match(old ?? '', new RegExp(`nothing that happened after ${asOf ?? '-'} is in it|^$`));
  await eventually(async () => {
    assert.equal((await get<DestinationList>('/destinations')).indexing.isCaughtUp, false);
  });
  assert.equal(await attempts(), 1);
  const reading = [
    ['GET', '/pipeline'],
    ['GET', '/events?message=before&user=alice'],
    ['POST', '/destinations/crm/pause'],
  ] as const;
  // All at once, since each is given ten seconds.
  await Promise.all(
    reading.map(async ([method, route]) => {
      const response = await ask(method, route, csrf);
      const { detail } = (await response.json()) as Problem;
      assert.equal(response.status, 503, `${route}: ${detail}`);
      assert.match(detail, /Kafka/, route);
    }),
  );

  await cluster.start(1);
  await write(postrider, [attemptsRecord(topology, [attemptLine('after')])]);
  await eventually(async () => {
    assert.equal(await attempts(), 2);
    assert.ok((await get<DestinationList>('/destinations')).indexing.isCaughtUp);
  });
  // The entry was on its way when the request was given up; the next one says what became of it.
  await eventually(async () => {
    const { items } = await get<Page<AuditEntry>>('/audit');
    assert.deepEqual(
      items
        .filter(({ action }) => action === 'pause')
        .map(({ outcome, detail }) => [outcome, detail]),
      [
        ['failed', 'not done: Kafka did not answer in time'],
        [undefined, undefined],
      ],
    );
  });
  await eventually(async () => {
    assert.deepEqual(await concerns(), ['no-worker']);
  });
});

testNeeding(
  [programs.chromium],
  'within ten seconds the first screen says that Kafka or the workers are away and what to do, and no longer once they are back',
  async (executablePath) => {
    let delivery = await postrider.start('delivery');
    const browser = await chromium.launch({
      executablePath,
      args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-sync'],
    });
    try {
      const page = await browser.newPage();
      await page.goto(`${running.consoleUrl}/`);
      await page.getByRole('link', { name: 'CRM', exact: true }).waitFor();
      const banners = page.locator('.note-bad');
      const says = async (cause: string, advice: string): Promise<void> => {
        const banner = banners.filter({ hasText: cause }).filter({ hasText: advice });
        await banner.waitFor({ timeout: 10_000 });
      };
      const saysNothing = (): Promise<void> =>
        eventually(async () => {
          assert.deepEqual(await banners.allInnerTexts(), []);
        });
      await saysNothing();

      await cluster.kill(1);
      await says('Kafka does not answer the console', 'Check the brokers and the network.');
      await cluster.start(1);
      await saysNothing();

      await delivery.kill('SIGTERM');
      await says('No delivery worker reports', 'Start postrider delivery, or read its log.');
      delivery = await postrider.start('delivery');
      await saysNothing();
    } finally {
      await browser.close();
      await delivery.kill('SIGKILL');
    }
  },
);
