import assert from 'node:assert/strict';
import { test } from 'node:test';
import { panelsOf, readDashboard, type Panel } from './monitoring-files.ts';

const dashboard = readDashboard();
const { panels } = dashboard;
const everything = panelsOf(dashboard);
const rows = panels.filter(({ type }) => type === 'row');
const graphs = everything.filter(({ type }) => type !== 'row');

test('panels have ids of their own, and none covers another', () => {
  assert.equal(new Set(everything.map(({ id }) => id)).size, everything.length);
  noneCovers(panels);
  for (const { gridPos, panels: inside = [] } of rows) {
    noneCovers(inside);
    for (const panel of inside) assert.ok(panel.gridPos.y > gridPos.y, panel.title);
  }
});

function noneCovers(together: readonly Panel[]): void {
  const taken = new Map<string, string>();
  for (const { title, gridPos } of together) {
    assert.ok(gridPos.x + gridPos.w <= 24, title);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1)
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
        assert.equal(taken.get(`${x},${y}`), undefined, title);
        taken.set(`${x},${y}`, title);
      }
  }
}

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

test('the stages are rows in the order of the flow, below one that answers four questions', () => {
  assert.deepEqual(
    rows.map(({ title }) => title.split(':')[0]),
    [
      'Objective',
      'Gateway',
      'Audience sync',
      'Router',
      'Delivery',
      'Endpoints',
      'Retries',
      'Given up',
      'API',
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
    strip.map(({ title }) => title.split('?')[0]),
    ['In time', 'Late now', 'What is behind', 'Who fails', 'Is everything there', 'Alerts'],
  );
});

test('opening it asks few queries: every row is closed and holds its panels', () => {
  for (const { title, collapsed, panels: inside = [] } of rows) {
    assert.equal(collapsed, true, title);
    assert.ok(inside.length > 0, title);
  }
  const asked = panels.flatMap(({ targets = [] }) => targets);
  assert.ok(asked.length <= 8, `${asked.length}`);
});

function unitOf({ fieldConfig }: Panel): string {
  return fieldConfig?.defaults.unit ?? 'none';
}
