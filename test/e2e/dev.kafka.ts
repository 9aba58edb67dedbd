import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventually } from '../harness/eventually.ts';
import { install } from '../harness/postrider.ts';
import { beginCommand, runCommand, type Begun } from '../harness/run-command.ts';

test('dev applies resources, says where it runs, and of the settings only those that somebody chose, and ends with code 0 on a signal', async (t) => {
  const postrider = await install();
  const dev = postrider.begin(['dev', '-f', '-']);
  t.after(() => {
    dev.kill('SIGKILL');
  });
  const webhooks = [{ url: 'https://crm.test' }];
  const source = { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] };
  const crm = { kind: 'Destination', id: 'crm', name: 'CRM', sources: ['shop'], webhooks };
  dev.stdin.end(JSON.stringify([source, crm]));
  await eventually(() => {
    assert.match(dev.stdout(), /^ready/m);
  });
  const ops = /^ready .* ops (\S+)/m.exec(dev.stdout())?.[1] ?? '';
  assert.equal((await fetch(`${ops}/readyz`)).status, 200);
  assert.match((await postrider.run(['get', 'source'])).stdout, /^shop/m);
  dev.kill('SIGINT');
  const { code, stdout, stderr } = await dev.ended;
  assert.equal(code, 0);
  assert.match(stdout, /^applied {2}source shop, destination crm\nready {2}gateway http/);
  const [starting = ''] =
    stderr.match(/^.*"starting gateway and router and delivery and api and console".*$/m) ?? [];
  const { settings } = JSON.parse(starting) as { settings: Record<string, string> };
  const given = Object.keys(postrider.environment).filter(
    (name) => !/^(PATH|HOME|LOG_)/.test(name),
  );
  // The folder for this run alone.
  assert.deepEqual(Object.keys(settings).sort(), [...given, 'CONSOLE_DATA_DIR'].sort());
});

/** As on a developer's machine: no broker is given. */
const alone = { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '' };

test('dev finds out before it starts a broker that a port or the data folder cannot be had', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-test-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const taken = createServer().listen(0);
  await once(taken, 'listening');
  t.after(() => taken.close());
  const port = String((taken.address() as AddressInfo).port);
  for (const [args, env, sentence] of [
    [
      ['dev'],
      { GATEWAY_PORT: port, OPS_PORT: '0', CONSOLE_PORT: '0', API_PORT: '0' },
      `GATEWAY_PORT is ${port}, which another process uses; allowed: a free port, or 0 for any`,
    ],
    [
      ['dev', '--data-dir', '/proc/x'],
      {},
      "the data folder /proc/x cannot be written to: ENOENT: no such file or directory, mkdir '/proc/x'",
    ],
    [
      ['dev', '--data-dir', '/dev/null/x'],
      {},
      "the data folder /dev/null/x cannot be written to: ENOTDIR: not a directory, mkdir '/dev/null/x'",
    ],
  ] as const) {
    const { code, stderr } = await runCommand(args, { ...alone, ...env, TMPDIR: folder });
    assert.equal(code, 1);
    assert.equal(stderr.trimEnd().split('\n').at(-1), `postrider: ${sentence}`);
    assert.deepEqual(await readdir(folder), [], 'a broker was begun');
  }
});

test('with a data folder dev has its broker where it was, and says why a start after a kill takes long', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'postrider-test-'));
  t.after(() => rm(dataDir, { recursive: true, force: true, maxRetries: 10, retryDelay: 1_000 }));
  const env = {
    ...alone,
    GATEWAY_PORT: '0',
    OPS_PORT: '0',
    CONSOLE_PORT: '0',
    API_PORT: '0',
    TOPIC_PARTITIONS: '1',
  };
  const start = async (): Promise<Begun & { readonly brokers: readonly string[] }> => {
    const dev = beginCommand(['dev', '--json', '--data-dir', dataDir], env);
    t.after(() => {
      dev.kill('SIGKILL');
    });
    const brokers = await eventually(() => {
      const [ready = assert.fail(`not ready:\n${dev.stderr()}`)] = dev.stdout().split('\n', 1);
      const told = JSON.parse(ready) as { readonly brokers: readonly string[] };
      assert.deepEqual(Object.keys(told), ['ready', 'gateway', 'ops', 'console', 'api', 'brokers']);
      return told.brokers;
    }, 90_000);
    return { ...dev, brokers };
  };
  const first = await start();
  assert.doesNotMatch(first.stderr(), /was killed/);
  first.kill('SIGKILL');
  await first.ended;
  const second = await start();
  assert.deepEqual(second.brokers, first.brokers);
  assert.match(second.stderr(), /the last run with this data folder was killed: waiting/);
  const named = await readFile(join(dataDir, 'brokers'), 'utf8');
  assert.deepEqual(second.brokers, [named.trim()]);
  second.kill('SIGINT');
  assert.equal((await second.ended).code, 0);
});

test('the demo accounts for every event', async () => {
  const postrider = await install();
  const { code, stdout, stderr } = await postrider.run(['demo']);
  assert.equal(code, 0, stdout + stderr);
  assert.match(stderr, /^produced \d+\/\d+ /m);
  const accounts = new Map(
    stdout.split('\n').map((line) => {
      const [name = '', ...cells] = line.split(/ {2,}/);
      return [name, cells];
    }),
  );
  // On a machine that is much too busy, events of the healthy endpoint expire as well.
  for (const [name, least, most] of [
    ['healthy', 1, 4_301],
    ['flaky', 1, 4_301],
    ['batched', 1, 4_301],
    ['dead', 0, 0],
  ] as const) {
    const [produced, , delivered, letters = '', missing] = accounts.get(name) ?? [];
    assert.deepEqual([produced, missing], ['4301', '0'], stdout);
    assert.ok(Number(delivered) >= least && Number(delivered) <= most, stdout);
    const counts = [...letters.matchAll(/(\d+) (?=\S)/g)].map(([, count]) => Number(count));
    const givenUp = counts.reduce((sum, count) => sum + count, 0);
    // An event whose answer came too late is delivered, and may expire all the same.
    assert.ok(Number(delivered) + givenUp >= 4_301, stdout);
  }
  const [, requests, , refused] = accounts.get('batched') ?? [];
  assert.ok(Number(requests) < 4_301 / 2, stdout);
  assert.match(refused ?? '', /\d+ http-422/);
});

test('a demo that is interrupted says so and leaves nothing of its broker behind', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-test-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const { PATH = '', HOME = '' } = process.env;
  const demo = beginCommand(['demo'], { PATH, HOME, TMPDIR: folder });
  t.after(() => {
    demo.kill('SIGKILL');
  });
  await eventually(async () => {
    const files = await readdir(folder, { recursive: true });
    assert.ok(files.some((file) => file.endsWith('__cluster_metadata-0')));
  });
  demo.kill('SIGINT');
  const { code, stderr } = await demo.ended;
  assert.equal(code, 1);
  assert.equal(stderr, 'postrider: stopped early, before all events were accounted for\n');
  await eventually(async () => {
    assert.deepEqual(await readdir(folder), []);
  });
});
