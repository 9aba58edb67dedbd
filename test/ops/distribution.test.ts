import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Histogram, Registry } from 'prom-client';
import {
  Distribution,
  exposeDistribution,
  exposeDistributions,
} from '../../src/ops/distribution.ts';

const [name, help] = ['age_seconds', 'An age.'];
const bounds = [0.005, 1, 2.5];
const values = [0, 0.004, 0.005, 0.0051, 1, 2, 2.5, 2.500_001, 400];

test('Prometheus reads the same of a distribution as of a histogram of prom-client', async () => {
  const theirs = new Registry();
  const histogram = new Histogram({
    name,
    help,
    labelNames: ['path'],
    buckets: bounds,
    registers: [theirs],
  });
  const ours = new Registry();
  const read = { straight: new Distribution(bounds), detour: new Distribution(bounds) };
  exposeDistributions(ours, { name, help, label: 'path' }, read);
  for (const path of ['straight', 'detour'] as const) histogram.zero({ path });
  for (const value of values) {
    histogram.observe({ path: 'straight' }, value);
    read.straight.add(value);
  }
  assert.equal(await ours.metrics(), await theirs.metrics());
});

test('without a label, it is the same', async () => {
  const theirs = new Registry();
  const histogram = new Histogram({ name, help, buckets: bounds, registers: [theirs] });
  const ours = new Registry();
  const distribution = new Distribution(bounds);
  exposeDistribution(ours, { name, help }, distribution);
  for (const value of values) {
    histogram.observe(value);
    distribution.add(value);
  }
  assert.equal(await ours.metrics(), await theirs.metrics());
});
