import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { readPage } from './pages.ts';

test('the receiver of the page on getting started takes what is signed and refuses the rest', async (context) => {
  const [, script] = /Save it as `receiver\.mjs`:\n\n```js\n([^]*?)```/.exec(page()) ?? [];
  assert.ok(script !== undefined);
  const folder = await mkdtemp(path.join(tmpdir(), 'postrider-receiver-'));
  const file = path.join(folder, 'receiver.mjs');
  await writeFile(file, script);
  const child = spawn(process.execPath, [file], {
    env: { PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  context.after(async () => {
    child.kill();
    await rm(folder, { recursive: true });
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<string> => String((await lines.next()).value);
  const port = /^listening on port (\d+)$/.exec(await next())?.[1] ?? '';
  const body = '{"version":1,"type":"track"}';
  const post = async (signature?: string): Promise<number> => {
    const headers = signature === undefined ? {} : { 'x-signature': signature };
    const answer = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body, headers });
    return answer.status;
  };
  const signature = createHmac('sha1', 'teehee').update(body).digest('hex');
  assert.deepEqual(
    [await post(), await post('0'.repeat(40)), await post(signature)],
    [401, 401, 200],
  );
  assert.match(await next(), /version: 1/);
});

function page(): string {
  return readPage('docs/getting-started.md');
}
