import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ActionDeps } from '../../src/console/actions/routes.ts';
import type { LetterChoice, Work } from '../../src/operations/operations.ts';
import { Runs } from '../../src/operations/runs.ts';
import type { Problem } from '../../src/http-api/answers.ts';
import { SimulatedClock } from '../delivery/simulated-clock.ts';
import { Browser, startStand } from './access/stand.ts';

const allowed =
  /^since; allowed: a time in ISO 8601, such as 2026-01-31T12:00:00Z or 2026-01-31T13:00:00\+01:00\.$/;

test('of dead letters since a time that no clock has, none is sent again, and not all of them', async (t) => {
  const counted: LetterChoice[] = [];
  const count = (selection: LetterChoice): Work => {
    counted.push(selection);
    return () => Promise.resolve({});
  };
  const runs = new Runs(new SimulatedClock());
  const actions = { operations: { count }, runs } as unknown as ActionDeps;
  const stand = await startStand(t, {}, { actions });
  const browser = new Browser(stand.url);
  const { csrf } = await browser.session();
  const ask = (since: string): ReturnType<Browser['post']> =>
    browser.post('/api/v1/redrives', { 'x-csrf-token': csrf }, { since, dryRun: true });
  // To JavaScript, which has another idea of ISO 8601 than JSON Schema, these are no times: they were taken for 1970.
  for (const since of ['2026-01-31T12:00:00+01', '2016-12-31T23:59:60Z']) {
    const { status, text } = await ask(since);
    assert.equal(status, 400, since);
    assert.match((JSON.parse(text) as Problem).detail, allowed);
  }
  const times = ['2026-01-31T12:00:00Z', '2026-01-31T13:00:00+01:00', '2026-01-31T12:00:00.000Z'];
  for (const since of times) {
    assert.equal((await ask(since)).status, 200, since);
    assert.equal(Date.parse(counted.at(-1)?.since ?? ''), Date.UTC(2026, 0, 31, 12));
  }
  assert.equal(counted.length, times.length);
});
