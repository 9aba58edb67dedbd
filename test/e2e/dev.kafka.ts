import assert from 'node:assert/strict';
import { test } from 'node:test';
import { install } from '../harness/postrider.ts';

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
  assert.match(stdout, /^healthy +4301 +4301 +0 /m);
  assert.match(stdout, /^dead +4301 +0 +4301 expired +0 /m);
});
