import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { withAdmin } from '../../src/kafka/admin.ts';
import { createKafka } from '../../src/kafka/client.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { startBrokers } from '../harness/broker.ts';
import { eventually } from '../harness/eventually.ts';
import { install } from '../harness/postrider.ts';

/** A broker of its own: killing it must not disturb other tests. */
const cluster = await startBrokers(1);
after(() => cluster.stop());

/** What is on its way at a signal has half a minute. */
const soon = { NODE_OPTIONS: `--import=${import.meta.resolve('../harness/short-waits.ts')}` };

async function written(topic: string): Promise<number> {
  const kafka = createKafka({ brokers: cluster.brokers, clientId: 'test' }, silentLogger);
  const ranges = await withAdmin(kafka, (admin) => admin.offsets(topic));
  return ranges.reduce((sum, { start, end }) => sum + end - start, 0);
}

test(
  'commands that write end at the first signal while Kafka is away, and say how far they came',
  { timeout: 90_000 },
  async (t) => {
    const postrider = await install({ KAFKA_BROKERS: cluster.brokers.join(','), ...soon });
    const prefix = postrider.environment['TOPIC_PREFIX'] ?? '';
    await postrider.run(['topics', '--create']);
    const resources = [
      { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] },
      {
        kind: 'Destination',
        id: 'crm',
        name: 'CRM',
        sources: ['shop'],
        webhooks: [{ url: 'https://crm.example.com/' }],
      },
    ];
    const stdin = resources.map((each) => JSON.stringify(each)).join('\n---\n');
    assert.equal((await postrider.run(['apply', '-f', '-'], { stdin })).code, 0);

    const call = `${JSON.stringify({ type: 'page', userId: 'u' })}\n`;
    const produce = postrider.begin(['produce', '--source', 'shop']);
    const deleteUser = postrider.begin(['delete-user', '--yes', '--file', '-']);
    const commands = [produce, deleteUser];
    t.after(() => {
      for (const command of commands) command.kill('SIGKILL');
    });
    produce.stdin.write(call);
    await eventually(async () => {
      assert.equal(await written(`${prefix}ingest`), 1);
    });
    deleteUser.stdin.end(Array.from({ length: 300_000 }, (_, i) => `user-${i}\n`).join(''));
    await eventually(async () => {
      assert.ok((await written(`${prefix}deletions`)) > 0);
    });
    await cluster.kill(1);
    produce.stdin.write(call);
    for (const command of commands) {
      await eventually(() => {
        assert.match(command.stderr(), /ECONNREFUSED/);
      });
      command.kill('SIGTERM');
    }

    const [produced, deleted] = await Promise.all(commands.map(({ ended }) => ended));
    assert.deepEqual([produced?.code, produced?.stdout], [1, '1 call sent\n']);
    assert.match(produced?.stderr ?? '', /^postrider: stopped early, after line 1$/m);
    assert.equal(deleted?.code, 1);
    assert.match(
      deleted.stderr,
      /^postrider: stopped before user "user-\d+"; if you run it again/m,
    );
  },
);
