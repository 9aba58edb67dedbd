import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { startStatusLine } from '../../src/cli/terminal/terminal.ts';

/** What is written to stderr from now on, where time is the test's. */
function watch(context: TestContext, isTerminal: boolean): () => string {
  const { isTTY } = process.stderr;
  context.after(() => {
    process.stderr.isTTY = isTTY;
  });
  process.stderr.isTTY = isTerminal;
  context.mock.timers.enable({ apis: ['setInterval'] });
  const { mock } = context.mock.method(process.stderr, 'write', () => true);
  return () => mock.calls.map(({ arguments: [text] }) => String(text)).join('');
}

test('on a terminal one line says how far the work is, and is gone when it is done', (t) => {
  const written = watch(t, true);
  let read = 0;
  const status = startStatusLine(process, () => `${read} read`);
  for (read = 1; read < 3; read += 1) t.mock.timers.tick(200);
  status.stop();
  t.mock.timers.tick(60_000);
  const over = '\r\u001b[2K';
  assert.equal(written(), `${over}0 read${over}1 read${over}2 read${over}`);
});

test('elsewhere a line every few seconds says so, unless nothing has changed or the work was short', (t) => {
  const written = watch(t, false);
  let read = 0;
  const status = startStatusLine(process, () => `${read} read`);
  t.mock.timers.tick(4_000);
  for (read of [1, 2, 2, 3]) t.mock.timers.tick(5_000);
  status.clear();
  status.stop();
  t.mock.timers.tick(60_000);
  assert.equal(written(), '1 read\n2 read\n3 read\n');
});
