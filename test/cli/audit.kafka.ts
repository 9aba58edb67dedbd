import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { startReceiver, type Receiver } from '../../src/dev/receiver.ts';
import { decodeAuditEntry, type AuditEntry } from '../../src/event/audit-entry.ts';
import { createKafka } from '../../src/kafka/client.ts';
import { readRange } from '../../src/kafka/read-range.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { testBroker } from '../harness/broker.ts';
import { install, type Ended, type Installation } from '../harness/postrider.ts';

let folder: string;
let receiver: Receiver;
let postrider: Installation;
let topic: string;

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'postrider-test-'));
  receiver = await startReceiver({ port: 0, answer: () => ({ status: 200 }) });
  await writeFile(path.join(folder, 'members.csv'), 'user\nu1\n');
  postrider = await install({ AUDIENCE_FILES_DIR: folder });
  topic = `${postrider.environment['TOPIC_PREFIX'] ?? ''}audit`;
  assert.equal((await postrider.run(['topics', '--create'])).code, 0);
  const resources = [
    { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] },
    {
      kind: 'Destination',
      id: 'crm',
      name: 'CRM',
      sources: ['shop'],
      webhooks: [{ url: receiver.url }],
    },
    {
      kind: 'Audience',
      id: 'big',
      name: 'Big',
      source: 'shop',
      members: { file: 'members.csv', userId: 'user' },
    },
  ];
  const { code, stderr } = await postrider.run(['apply', '-f', '-'], {
    stdin: JSON.stringify(resources),
  });
  assert.equal(code, 0, stderr);
});

after(async () => {
  await receiver.close();
  await rm(folder, { recursive: true, force: true });
});

async function entries(): Promise<readonly AuditEntry[]> {
  const { brokers } = await testBroker();
  const kafka = createKafka({ brokers, clientId: 'test' }, silentLogger);
  const found: AuditEntry[] = [];
  for await (const { value } of readRange(kafka, { topic })) {
    const entry = decodeAuditEntry(value);
    if (entry !== undefined) found.push(entry);
  }
  return found;
}

/** Runs commands, and resolves with what they have added to the audit. */
async function told(...commands: readonly (readonly string[])[]): Promise<readonly unknown[]> {
  const before = (await entries()).length;
  for (const args of commands) {
    const { code, stderr } = await postrider.run(args);
    assert.equal(code, 0, `${args.join(' ')}: ${stderr}`);
  }
  return (await entries())
    .slice(before)
    .map(({ action, destination, detail, outcome }) => [action, destination, detail, outcome]);
}

test('commands that send, change partitions or encrypt again are in the audit, and those that only look are not', async () => {
  const prefix = postrider.environment['TOPIC_PREFIX'] ?? '';
  const [partitions, letters] = [['--partitions', '4', '--yes'], `${prefix}dead-letter`];
  assert.deepEqual(
    await told(
      ['send-test', 'crm'],
      ['resume', 'crm'],
      ['secrets', 'rotate'],
      ['topics', 'add-partitions', letters, ...partitions],
      ['topics', 'add-partitions', letters, ...partitions],
      ['audience-sync', 'big', '--dry-run', '--yes'],
      ['audience-sync', '--yes'],
      ['audience-sync', 'big', '--full', '--allow-old', '--max-removed', '50'],
      ['audience-sync', '--history'],
      ['audience-sync', 'big', '--retire'],
      ['topics', '--create'],
    ),
    [
      ['send-test', 'crm', undefined, undefined],
      ['resume', 'crm', 'crm', undefined],
      ['resume', 'crm', undefined, undefined],
      ['rotate-secrets', undefined, undefined, undefined],
      ['add-partitions', undefined, `${letters} from 3 to 4`, undefined],
      ['audience-sync', undefined, 'all', undefined],
      ['audience-sync', undefined, 'big --full --allow-old --max-removed 50', undefined],
      ['audience-sync', undefined, 'big --retire', undefined],
    ],
  );
});

test('a run has its end in the audit, tied to its beginning, also if it fails', async () => {
  const before = (await entries()).length;
  const kept = await postrider.run(['dead-letters', 'redrive', '--destination', 'crm', '--yes']);
  assert.equal(kept.code, 0, kept.stderr);
  assert.equal((await postrider.run(['resume', 'crm', 'crn'])).code, 1);
  const [begun, ended, second, failed] = (await entries()).slice(before);
  assert.deepEqual([begun?.isRun, begun?.destination], [true, 'crm']);
  assert.deepEqual([ended?.began, ended?.sent, ended?.isRun], [begun?.id, 0, undefined]);
  assert.deepEqual([second?.isRun, second?.destinations], [true, ['crm', 'crn']]);
  assert.deepEqual([failed?.began, failed?.outcome], [second?.id, 'refused']);
});

test('what was refused is in the audit as that', async () => {
  const before = (await entries()).length;
  const run = async (args: readonly string[], env = {}): Promise<Ended> => {
    const ended = await postrider.run(args, { env });
    assert.equal(ended.code, 1);
    return ended;
  };
  await run(['send-test', 'crn']);
  await run(['audience-sync', 'big', '--full', '--max-added', '0'], {
    AUDIENCE_FILES_DIR: tmpdir(),
  });
  const added = (await entries()).slice(before);
  assert.deepEqual(
    added.map(({ action, outcome }) => [action, outcome]),
    [
      ['send-test', undefined],
      ['send-test', 'refused'],
      ['audience-sync', undefined],
      ['audience-sync', 'refused'],
    ],
  );
  assert.equal(added[1]?.detail, 'there is no destination crn; did you mean crm?');
});
