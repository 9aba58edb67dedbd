import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { newSigningSecret } from '../../src/resources/signing-secret.ts';
import { startReceiver, type Arrival, type Receiver } from '../../src/dev/receiver.ts';
import { eventually } from '../harness/eventually.ts';
import { install, type Installation, type RunningRole } from '../harness/postrider.ts';

const arrivals: Arrival[] = [];
let receiver: Receiver;
let postrider: Installation;
let roles: RunningRole[] = [];

function resources(sharedSecret: string): string {
  const destination = {
    kind: 'Destination',
    id: 'crm',
    name: 'CRM',
    sources: ['shop'],
    sharedSecret,
    webhooks: [{ url: `${receiver.url}/events?team=growth`, headers: { 'X-Team': 'growth' } }],
    idempotencyHeader: 'Idempotency-Key',
  };
  const source = { kind: 'Source', id: 'shop', name: 'Web shop', writeKeys: ['wk_shop_1'] };
  return JSON.stringify([source, destination]);
}

async function apply(sharedSecret: string): Promise<void> {
  await output(['apply', '-f', '-'], resources(sharedSecret));
}

async function output(args: readonly string[], stdin = ''): Promise<string> {
  const { code, stdout, stderr } = await postrider.run(args, { stdin });
  assert.equal(code, 0, stderr);
  return stdout;
}

async function produce(...calls: readonly object[]): Promise<void> {
  const stdin = calls.map((call) => JSON.stringify(call)).join('\n');
  await output(['produce', '--source', 'shop'], stdin);
}

async function arrivalOf(messageId: string): Promise<Arrival> {
  return eventually(() => {
    const found = arrivals.find(({ headers }) => headers['idempotency-key'] === messageId);
    assert.ok(found, `${messageId} has not arrived`);
    return found;
  });
}

before(async () => {
  receiver = await startReceiver({
    port: 0,
    sharedSecret: 'teehee',
    answer: (arrival) => {
      arrivals.push(arrival);
      return { status: 200 };
    },
  });
  postrider = await install();
  const topics = await postrider.run(['topics', '--create', '--check']);
  assert.equal(topics.code, 0, topics.stderr);
  await apply('teehee');
  roles = await Promise.all([postrider.start('router'), postrider.start('delivery')]);
});

after(async () => {
  await Promise.all(roles.map((role) => role.kill('SIGKILL')));
  await receiver.close();
});

test('a call arrives as the documented body, signed, with the configured headers', async () => {
  await produce({
    type: 'track',
    messageId: 'm-1',
    userId: '019mr8mf4r',
    event: 'Purchased an Item',
    properties: { revenue: '39.95', shippingMethod: '2-day' },
    timestamp: '2012-12-02T00:30:08.276Z',
  });
  const { headers, body, path, signature } = await arrivalOf('m-1');
  assert.equal(
    body.toString(),
    '{"version":1,"type":"track","userId":"019mr8mf4r","event":"Purchased an Item","properties":{"revenue":"39.95","shippingMethod":"2-day"},"timestamp":"2012-12-02T00:30:08.276Z"}',
  );
  assert.equal(headers['x-signature'], '6584c31d030ff167eca14a1042eb7e88c881b8e8');
  assert.equal(signature, 'valid');
  assert.equal(headers['content-type'], 'application/json');
  assert.equal(headers['user-agent'], 'Postrider/1.0');
  assert.equal(headers['x-team'], 'growth');
  assert.equal(path, '/events?team=growth');
});

test('a changed destination takes effect without a restart', async () => {
  await apply('otherwise');
  await eventually(async () => {
    const messageId = `m-changed-${Date.now()}`;
    await produce({ type: 'identify', messageId, userId: 'u' });
    assert.equal((await arrivalOf(messageId)).signature, 'wrong');
  });
  await apply('teehee');
});

test('a secret changes while events run, and a receiver that knows one at a time refuses none', async (t) => {
  const [old, fresh] = [newSigningSecret(), newSigningSecret()];
  let webhook = new Webhook(old);
  const statuses: { readonly signatures: number; readonly status: number }[] = [];
  const partner = await startReceiver({
    port: 0,
    answer: ({ body, headers }) => {
      const signatures = String(headers['webhook-signature']).split(' ').length;
      let status = 200;
      try {
        webhook.verify(body, headers as Record<string, string>);
      } catch {
        status = 401;
      }
      statuses.push({ signatures, status });
      return { status };
    },
  });
  t.after(() => partner.close());
  const applied = async (sharedSecret: string, ...more: readonly string[]): Promise<string> => {
    const destination = {
      kind: 'Destination',
      id: 'partner',
      name: 'Partner',
      sources: ['partners'],
      sharedSecret,
      signature: 'both',
      webhooks: [{ url: partner.url }],
    };
    const source = { kind: 'Source', id: 'partners', name: 'Partners', writeKeys: ['wk_p'] };
    return output(['apply', '-f', '-', ...more], JSON.stringify([source, destination]));
  };
  await applied(old);

  let sent = 0;
  const over = new AbortController();
  const running = (async () => {
    while (!over.signal.aborted) {
      const calls = Array.from({ length: 150 }, () => ({
        type: 'identify',
        userId: `u-${sent++}`,
      }));
      const stdin = calls.map((call) => JSON.stringify(call)).join('\n');
      await output(['produce', '--source', 'partners'], stdin);
    }
  })();
  const arrived = (signatures: number, count: number): Promise<void> =>
    eventually(() => {
      const those = statuses.filter((each) => each.signatures === signatures);
      assert.ok(those.length >= count, `${those.length} with ${signatures} signatures`);
    });
  await arrived(1, 150);
  assert.match(
    await applied(fresh),
    /the former secret signs as well until .*; X-Signature is made with the new one alone/,
  );
  await arrived(2, 300);
  webhook = new Webhook(fresh);
  await arrived(2, statuses.length + 150);
  over.abort();
  await running;
  await eventually(() => {
    assert.equal(statuses.length, sent);
  });
  for (const command of [
    ['get', 'destination', 'partner'],
    ['status', 'partner'],
  ])
    assert.match(await output(command), /^signed with the former secret as well until 20/m);
  await output(['send-test', 'partner']);
  assert.equal(statuses.at(-1)?.signatures, 2);
  assert.match(await applied(fresh, '--end-overlap'), /partner: end of the former secrets/);
  await output(['send-test', 'partner']);
  assert.equal(statuses.at(-1)?.signatures, 1);
  assert.deepEqual(
    statuses.filter(({ status }) => status !== 200),
    [],
  );
});

test('the ops servers of running roles answer, and no secret is in metrics or logs', async () => {
  for (const role of roles) {
    assert.equal((await fetch(`${role.url}/livez`)).status, 200);
    const metrics = await (await fetch(`${role.url}/metrics`)).text();
    assert.match(metrics, /^postrider_/m);
    for (const text of [metrics, role.log()]) {
      assert.doesNotMatch(text, /teehee|otherwise|wk_shop_1|growth|Purchased an Item/);
      assert.ok(!text.includes(postrider.environment['SECRET_KEY'] ?? 'missing'));
    }
  }
});

test('a role that cannot start says why in one line and ends with code 1', async () => {
  const { code, stderr } = await postrider.run(['delivery'], { env: { SECRET_KEY: '' } });
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^postrider: no stored secret can be read: Destination crm: .* because SECRET_KEY is not set$/m,
  );
});

test('a role ends with code 0 on SIGTERM, and its successor goes on', async () => {
  const before = await Promise.all(roles.map((role) => role.kill('SIGTERM')));
  assert.deepEqual(before, [0, 0]);
  await produce({ type: 'page', messageId: 'm-after', userId: 'u', name: 'Home' });
  roles = await Promise.all([postrider.start('router'), postrider.start('delivery')]);
  const { body } = await arrivalOf('m-after');
  assert.deepEqual((JSON.parse(body.toString()) as { properties: unknown }).properties, {
    name: 'Home',
  });
  assert.equal(arrivals.filter(({ headers }) => headers['idempotency-key'] === 'm-1').length, 1);
});
