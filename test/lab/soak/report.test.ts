import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { format } from 'prettier';
import { withSection } from '../../harness/recorded-page.ts';
import { reliabilitySections } from '../../harness/reliability-page.ts';
import { faults } from './faults.ts';
import type { PhaseResult } from './phase.ts';
import { sectionOf } from './report.ts';
import type { SoakResult } from './soak.ts';

const when = { date: '2026-01-02', machine: '2 × a processor, 4 GB', node: 'v24.0.0' };
const missing = { destinationId: 'quick', id: 'p1-1', user: 'u1' };
const phase: PhaseResult = {
  fault: 'role-hangs',
  what: 'router-1',
  accepted: 1_200,
  lost: [],
  repeated: 3,
  longestStallMs: 1_234,
  longestWait: { ...missing, waitMs: 12_340 },
  settledMs: 500,
  problems: [],
};
const result: SoakResult = {
  seed: 7,
  minutes: 60,
  tookMs: 3_700_000,
  loadAverage: 2.46,
  phases: [
    phase,
    {
      ...phase,
      fault: 'broker-killed',
      what: 'broker 2',
      lost: [missing],
      problems: ['it is *bad*'],
    },
    { ...phase, longestStallMs: 900 },
  ],
  skipped: [],
  crashes: ['router-1 ended with 1:\nwith a log'],
};

test('the section says machine, seed and command, and has a row for each fault with its longest times', () => {
  const had = result.phases.map(({ fault }) => fault);
  const others = faults.map(({ name }) => name).filter((name) => !had.includes(name));
  assert.equal(
    sectionOf(result, when),
    `Recorded on 2026-01-02 with \`npm run soak -- --minutes 60 --seed 7 --report\`: 2 × a processor, 4 GB, Node.js v24.0.0, Apache Kafka 4.2.0. Load average of the machine: 2.5.

**3 faults in 62 minutes, 3,600 calls accepted, each for 10 endpoints. Lost: 1.**

| Fault           | Times | Accepted | Lost | Repeated | Longest stall | Longest wait |
| --------------- | ----- | -------- | ---- | -------- | ------------- | ------------ |
| \`role-hangs\`    | 2     | 2,400    | 0    | 6        | 1.2 s         | 12.3 s       |
| \`broker-killed\` | 1     | 1,200    | 1    | 3        | 1.2 s         | 12.3 s       |

- \`role-hangs\`: A gateway, router, delivery worker or console gets SIGSTOP, and later SIGCONT.
- \`broker-killed\`: A broker gets SIGKILL, and is started again.

Each second, 31 calls come in. The retry tiers are 500ms, 1s, 5s, so that events walk through all of them.

There was no time for ${others.join(', ')}.

Promises that were not kept:

- broker-killed (broker 2): it is \\*bad\\*

Roles that ended by themselves and were started again:

- router-1 ended with 1:`,
  );
});

test('docs/reliability.md has a section for each command, or says that it was not recorded', () => {
  const page = readFileSync(new URL('../../../docs/reliability.md', import.meta.url), 'utf8');
  for (const name of reliabilitySections)
    assert.match(page, new RegExp(`\n## ${name}\n\n(Recorded on|Not recorded yet) `), name);
});

test('docs/reliability.md stays formatted when its section is written', async () => {
  const page = readFileSync(new URL('../../../docs/reliability.md', import.meta.url), 'utf8');
  const written = withSection(page, reliabilitySections, 'soak', sectionOf(result, when));
  assert.equal(await format(written, { parser: 'markdown', printWidth: 100 }), written);
  assert.match(written, /\n## soak\n\nRecorded on 2026-01-02 /);
});
