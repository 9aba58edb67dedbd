import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { Webhook } from 'standardwebhooks';
import { eventually } from '../harness/eventually.ts';
import { runCommand, startCommand, type RunningCommand } from '../harness/run-command.ts';

const env = { PATH: process.env['PATH'] ?? '' };
const body = '{"type":"track"}';

async function listen(t: { after(fn: () => unknown): void }, ...args: string[]): Promise<Listener> {
  const command = await startCommand(['listen', '--port', '0', ...args], env);
  t.after(() => command.kill('SIGTERM'));
  return { ...command, url: command.firstLine.replace('listening on ', '') };
}

interface Listener extends RunningCommand {
  readonly url: string;
}

async function post(url: string, headers: Record<string, string>): Promise<void> {
  await fetch(`${url}/hook`, { method: 'POST', body, headers });
}

test('listen tells a valid, an invalid and a missing signature apart', async (t) => {
  const { url, stdout } = await listen(t, '--secret', 'teehee');
  const signature = createHmac('sha1', 'teehee').update(body).digest('hex');
  await post(url, { 'X-Signature': signature });
  await post(url, { 'X-Signature': signature.replaceAll(/./g, '0') });
  await post(url, {});
  await eventually(() => {
    assert.deepEqual(stdout().trimEnd().split('\n').slice(1), [
      `200 /hook valid signature ${body}`,
      `200 /hook invalid signature ${body}`,
      `200 /hook no signature ${body}`,
    ]);
  });
});

test('listen verifies a signature by Standard Webhooks, and its time', async (t) => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  const { url, stdout } = await listen(t, '--secret', secret);
  const send = async (ageMs: number, changed: Record<string, string> = {}): Promise<void> => {
    const at = new Date(Date.now() - ageMs);
    await post(url, {
      'webhook-id': 'm-1',
      'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
      'webhook-signature': new Webhook(secret).sign('m-1', at, body),
      ...changed,
    });
  };
  await send(0);
  await send(400_000);
  await send(0, { 'X-Signature': 'abc' });
  await eventually(() => {
    assert.deepEqual(stdout().trimEnd().split('\n').slice(1), [
      `200 /hook valid signature ${body}`,
      `200 /hook signature of more than five minutes ago ${body}`,
      `200 /hook invalid signature ${body}`,
    ]);
  });
});

test('a secret that cannot verify anything is refused', async () => {
  const { code, stderr } = await runCommand(['listen', '--secret', 'whsec_§'], env);
  assert.equal(code, 2);
  assert.match(stderr, /It must be base64 after whsec_\./);
});

test('without a secret, listen says that it verified nothing', async (t) => {
  const { url, stdout } = await listen(t);
  await post(url, { 'X-Signature': 'abc' });
  await eventually(() => {
    assert.match(stdout(), /^200 \/hook signature not verified /m);
  });
});

test('listen shows a compressed body, and verifies it uncompressed', async (t) => {
  const { url, stdout } = await listen(t, '--secret', 'teehee');
  await fetch(`${url}/hook`, {
    method: 'POST',
    body: gzipSync(body),
    headers: {
      'Content-Encoding': 'gzip',
      'X-Signature': createHmac('sha1', 'teehee').update(body).digest('hex'),
    },
  });
  await eventually(() => {
    assert.match(stdout(), /^200 \/hook valid signature, compressed \{"type":"track"\}$/m);
  });
});

test('listen shows each event of a batch, and lets some of them fail', async (t) => {
  const batch = '[{"type":"track"},{"type":"page"}]';
  const takesAll = await listen(t);
  const all = await fetch(takesAll.url, { method: 'POST', body: batch });
  assert.deepEqual([all.status, await all.text()], [200, '']);
  await eventually(() => {
    assert.deepEqual(takesAll.stdout().trimEnd().split('\n').slice(1), [
      '200 / no signature, a batch of 2',
      '    200 {"type":"track"}',
      '    200 {"type":"page"}',
    ]);
  });
  const failsAll = await listen(t, '--fail-rate', '1');
  const none = await fetch(failsAll.url, { method: 'POST', body: batch });
  assert.equal(none.status, 207);
  assert.deepEqual(await none.json(), { results: [{ status: 500 }, { status: 500 }] });
  await eventually(() => {
    assert.match(failsAll.stdout(), /^207 \/ .* 2\n {4}500 \{"type":"track"\}\n {4}500 /m);
  });
});

test('listen --headers prints what came with the body', async (t) => {
  const { url, stdout } = await listen(t, '--headers');
  await post(url, { 'X-Team': 'growth' });
  await eventually(() => {
    assert.match(stdout(), /^200 \/hook no signature .*\n(?: {4}.*\n)* {4}x-team: growth$/m);
  });
});

test('what arrives cannot command the terminal', async (t) => {
  const { url, stdout } = await listen(t, '--headers');
  const body = '{"a":"\u001b[2J\u202egnp"}\n';
  await fetch(`${url}/hook`, { method: 'POST', body, headers: { 'X-Odd': 'a\u009b2Jb' } });
  await fetch(`${url}/bytes`, { method: 'POST', body: Buffer.from([0x1b, 0xff]) });
  await eventually(() => {
    const said = stdout();
    assert.match(said, /^200 \/hook no signature \{"a":"\\u001b\[2J\\u202egnp"\}\\u000a$/m);
    assert.match(said, /^ {4}x-odd: a\\u009b2Jb$/m);
    assert.match(said, /^200 \/bytes no signature 2 bytes, not text; in base64: G\/8=$/m);
    assert.doesNotMatch(said, /(?!\n)[\p{Cc}\p{Cf}]/u);
  });
});

test('a port that is taken is told in one sentence', async (t) => {
  const { url } = await listen(t);
  const { port } = new URL(url);
  const { code, stderr } = await runCommand(['listen', '--port', port], env);
  assert.deepEqual(
    [code, stderr],
    [
      1,
      `postrider: --port is ${port}, which another process uses; allowed: a free port, or 0 for any\n`,
    ],
  );
});
