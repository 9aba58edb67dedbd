import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Counter, Gauge } from 'prom-client';
import { startOpsServer } from '../../src/ops/http-server.ts';
import { createMetrics } from '../../src/ops/metrics.ts';
import { version } from '../../src/ops/process.ts';

test('the ops server tells liveness always, readiness as it is, and the metrics', async (t) => {
  const metrics = createMetrics();
  new Counter({ name: 'postrider_things_total', help: 'Things', registers: [metrics] }).inc(3);
  let ready = false;
  const server = await startOpsServer({ port: 0, metrics, ready: () => ready });
  t.after(() => server.close());

  const status = async (path: string): Promise<number> => (await fetch(server.url + path)).status;
  assert.equal(await status('/livez'), 200);
  assert.equal(await status('/readyz'), 503);
  ready = true;
  assert.equal(await status('/readyz'), 200);

  const text = await (await fetch(`${server.url}/metrics`)).text();
  assert.match(text, /^postrider_things_total 3$/m);
  assert.ok(text.includes(`\npostrider_build_info{version="${version}"} 1\n`));
  assert.match(text, /^process_cpu_seconds_total /m);
});

test('a port that is taken is told in one sentence', async (t) => {
  const options = { port: 0, metrics: createMetrics(), ready: () => true };
  const server = await startOpsServer(options);
  t.after(() => server.close());
  const port = Number(new URL(server.url).port);
  await assert.rejects(startOpsServer({ ...options, port }), {
    code: 'setting-invalid',
    message: `OPS_PORT is ${port}, which another process uses; allowed: a free port, or 0 for any`,
  });
});

test('whoever reads the metrics again and again has them written twenty times a second', async (t) => {
  const metrics = createMetrics();
  let written = 0;
  const counted = new Gauge({
    name: 'postrider_things',
    help: 'Things',
    registers: [metrics],
    collect() {
      written += 1;
      this.set(written);
    },
  });
  assert.ok(counted);
  const server = await startOpsServer({ port: 0, metrics, ready: () => true });
  t.after(() => server.close());
  const beganMs = performance.now();
  const texts = Array.from({ length: 300 }, async () =>
    (await fetch(`${server.url}/metrics`)).text(),
  );
  for (const text of await Promise.all(texts)) assert.match(text, /^postrider_things \d+$/m);
  const seconds = Math.ceil((performance.now() - beganMs) / 1_000) + 1;
  assert.ok(written <= 20 * seconds, `${written} times in ${seconds} s`);
});
