import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventually } from '../harness/eventually.ts';
import { install } from '../harness/postrider.ts';
import { beginCommand } from '../harness/run-command.ts';

test('dev applies resources, says where it runs, and ends with code 0 on a signal', async () => {
  const postrider = await install();
  const dev = await postrider.startCommand(['dev', '--json', '-f', '-'], {
    stdin: '{"kind":"Source","id":"shop","name":"Shop","writeKeys":["wk"]}',
  });
  const ready = JSON.parse(dev.firstLine) as Record<string, unknown>;
  assert.deepEqual(Object.keys(ready), ['ready', 'gateway', 'ops', 'brokers']);
  assert.equal(ready['brokers']?.toString(), postrider.environment['KAFKA_BROKERS']);
  assert.equal((await fetch(`${String(ready['ops'])}/readyz`)).status, 200);
  assert.match((await postrider.run(['get', 'source'])).stdout, /^shop/m);
  assert.equal(await dev.kill('SIGINT'), 0);
});

test('the demo accounts for every event', async () => {
  const postrider = await install();
  const { code, stdout, stderr } = await postrider.run(['demo']);
  assert.equal(code, 0, stdout + stderr);
  assert.match(stderr, /^produced \d+\/\d+ /m);
  assert.match(stdout, /^healthy +4301 +4301 +0 /m);
  assert.match(stdout, /^dead +4301 +0 +4301 expired +0 /m);
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
  assert.equal(stderr, 'postrider: stopped early, without accounts of the events\n');
  await eventually(async () => {
    assert.deepEqual(await readdir(folder), []);
  });
});
