import assert from 'node:assert/strict';
import { test } from 'node:test';
import { statusKey } from '../../src/event/destination-status.ts';
import { WorkerReports } from '../../src/notices/worker-reports.ts';

const hourMs = 3_600_000;
const startMs = Date.UTC(2026, 0, 31);

function sayDelivered(reports: WorkerReports, destination: string, atMs: number): void {
  const at = new Date(atMs).toISOString();
  const lastAnswer = { at, outcome: 'delivered' };
  const status = {
    kind: 'destination',
    worker: 'w',
    at,
    destination,
    state: 'ok',
    urls: [{ lastAnswer }],
  };
  reports.put(statusKey('w', destination), Buffer.from(JSON.stringify(status)));
}

test('a time of delivery is known for as long as an episode could end with it, and forgotten then', () => {
  const reports = new WorkerReports();
  sayDelivered(reports, 'former', startMs);
  reports.failing(startMs + 25 * hourMs);
  assert.equal(reports.deliveredMs({ id: 'former' }), startMs);
  sayDelivered(reports, 'crm', startMs + 40 * hourMs);
  reports.failing(startMs + 49 * hourMs);
  assert.equal(reports.deliveredMs({ id: 'former' }), undefined);
  assert.equal(reports.deliveredMs({ id: 'crm' }), startMs + 40 * hourMs);
});

test('of a topic that was made again, failures are reported anew, and times of delivery stay known', () => {
  const former = new WorkerReports();
  sayDelivered(former, 'crm', startMs);
  const status = { kind: 'destination', destination: 'ads', state: 'failing', urls: [] };
  former.put(statusKey('w', 'ads'), Buffer.from(JSON.stringify(status)));
  assert.equal(former.failing(startMs).size, 1);
  const reports = new WorkerReports(former);
  assert.equal(reports.failing(startMs).size, 0);
  assert.equal(reports.deliveredMs({ id: 'crm' }), startMs);
});
