import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readDashboard, type Panel } from './monitoring-files.ts';

const { panels } = readDashboard();
const graphs = panels.filter(({ type }) => type !== 'row');

test('panels have ids of their own, and none covers another', () => {
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  const taken = new Map<string, string>();
  for (const { title, gridPos } of panels) {
    assert.ok(gridPos.x + gridPos.w <= 24, title);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1)
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
        assert.equal(taken.get(`${x},${y}`), undefined, title);
        taken.set(`${x},${y}`, title);
      }
  }
});

/** Of Grafana's units, those that are used. */
const units = ['short', 's', 'bytes', 'cps', 'reqps', 'percentunit'];

test('each panel shows something, in a unit that fits what it asks for', () => {
  for (const panel of graphs) {
    const { title, targets = [] } = panel;
    assert.ok(targets.length > 0, title);
    assert.equal(new Set(targets.map(({ refId }) => refId)).size, targets.length, title);
    const unit = unitOf(panel);
    assert.ok(units.includes(unit), `${title}: ${unit}`);
    for (const { expr } of targets) {
      if (unit === 'cps' || unit === 'reqps') assert.match(expr, /rate\(/, title);
      if (unit === 's') assert.match(expr, /_seconds/, title);
      if (unit === 'bytes') assert.match(expr, /_bytes/, title);
    }
  }
});

test('the stages are rows in the order of the flow, below a strip that tells whether it keeps up', () => {
  const rows = panels.filter(({ type }) => type === 'row');
  assert.deepEqual(
    rows.map(({ title }) => title.split(':')[0]),
    [
      'Gateway',
      'Audience sync',
      'Router',
      'Delivery',
      'Endpoints',
      'Retries',
      'Given up',
      'Kafka, configuration and processes',
    ],
  );
  const tops = panels.map(({ gridPos }) => gridPos.y);
  assert.deepEqual(
    tops,
    tops.toSorted((a, b) => a - b),
  );
  const strip = panels.slice(
    0,
    panels.findIndex(({ type }) => type === 'row'),
  );
  assert.deepEqual(
    strip.map(({ title }) => title),
    [
      'Calls routed',
      'Oldest call not routed',
      'Oldest event not delivered',
      'Retries overdue',
      'Delivered',
      'In time',
      'Destinations, by what holds them back',
    ],
  );
});

function unitOf({ fieldConfig }: Panel): string {
  return fieldConfig?.defaults.unit ?? 'none';
}
