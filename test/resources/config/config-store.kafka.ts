import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { withAdmin } from '../../../src/kafka/admin.ts';
import { silentLogger, type Logger } from '../../../src/ops/log.ts';
import { startConfig } from '../../../src/resources/config/config-store.ts';
import type { Config, ConfigChange } from '../../../src/resources/config/config.ts';
import type { SecretKeys } from '../../../src/resources/config/secrets.ts';
import { createTopics, inspectTopics } from '../../../src/resources/topics.ts';
import { eventually } from '../../harness/eventually.ts';
import { testDeployment, type TestDeployment } from '../deployment.ts';
import {
  candidatesOf,
  exampleDestination,
  exampleKeys,
  exampleSource,
  otherKeys,
} from '../examples.ts';

let deployment: TestDeployment;

before(async () => {
  deployment = await testDeployment();
});

after(() => deployment.stop());

async function withConfig(
  use: (config: Config) => Promise<void>,
  secretKeys: SecretKeys = exampleKeys,
  log: Logger = silentLogger,
): Promise<void> {
  const config = await startConfig({ ...deployment, secretKeys, log });
  try {
    await use(config);
  } finally {
    await config.stop();
  }
}

test('a process knows what was applied before it started, and follows what is applied later', async () => {
  await withConfig((config) => {
    assert.equal(config.offset, 0);
    assert.equal(config.source('shop'), undefined);
    return Promise.resolve();
  });
  await deployment.apply([exampleSource(), exampleDestination()]);
  await withConfig(async (config) => {
    assert.deepEqual(config.sourceByWriteKey('wk_shop'), exampleSource());
    assert.deepEqual(candidatesOf(config, 'shop'), [exampleDestination()]);
    assert.equal(config.offset, 2);

    const changes: ConfigChange[] = [];
    config.onChange((change) => changes.push(change));
    const changed = exampleDestination({ sharedSecret: 'changed' });
    await deployment.apply([changed]);
    await config.caughtUp();
    assert.deepEqual(config.destination('crm'), changed);
    assert.deepEqual(changes, [{ kind: 'Destination', id: 'crm' }]);
    assert.equal(config.offset, 3);
    assert.equal(config.isFresh(), true);
  });
});

test('a change takes effect within two seconds by itself', async () => {
  await deployment.apply([exampleSource(), exampleDestination()]);
  await withConfig(async (config) => {
    await deployment.apply([exampleDestination({ name: 'Quick' })]);
    await eventually(() => {
      assert.equal(config.destination('crm')?.name, 'Quick');
    }, 2_000);
  });
});

test('a deleted destination is gone, here and in a process that starts later', async () => {
  const extra = exampleDestination({ id: 'extra' });
  await deployment.apply([exampleSource(), exampleDestination(), extra]);
  await withConfig(async (config) => {
    assert.ok(config.destination('extra'));
    await deployment.apply([exampleSource(), exampleDestination()], { prune: true });
    await config.caughtUp();
    assert.equal(config.destination('extra'), undefined);
  });
  await withConfig((config) => {
    assert.equal(config.destination('extra'), undefined);
    assert.ok(config.destination('crm'));
    return Promise.resolve();
  });
});

test('a record that is no resource is logged and changes nothing', async () => {
  await deployment.apply([exampleSource(), exampleDestination()]);
  const errors: string[] = [];
  const log: Logger = { ...silentLogger, error: (_, message) => errors.push(message) };
  await withConfig(
    async (config) => {
      const known = config.destination('crm');
      await deployment.producer.send(
        ['Destination/crm', 'Destination/new', 'Nonsense'].map((key) => ({
          topic: deployment.topology.topics.config,
          key,
          value: '{"not": "a resource"',
        })),
      );
      await config.caughtUp();
      assert.equal(config.destination('crm'), known);
      assert.equal(config.isUnreadable('crm'), false);
      assert.equal(config.isUnreadable('new'), true);
      assert.equal(errors.length, 2);
      // Mended by applying it again.
      const mended = [exampleSource(), exampleDestination(), exampleDestination({ id: 'new' })];
      assert.match(
        (await deployment.apply(mended)).join(),
        /update Destination crm.*could not be read/,
      );
      await config.caughtUp();
      assert.ok(config.destination('new'));
      assert.equal(config.isUnreadable('new'), false);
    },
    exampleKeys,
    log,
  );
});

test('a wrong key stops the start with a sentence that names the resource and SECRET_KEY', async () => {
  await deployment.apply([exampleSource(), exampleDestination()], { prune: true });
  await assert.rejects(
    withConfig(() => Promise.resolve(), otherKeys),
    {
      code: 'secret-unreadable',
      message: /^no stored secret can be read: Destination crm: .* other than SECRET_KEY/,
    },
  );
});

test('when the topic was deleted and made again, what is applied then replaces everything', async () => {
  const gone = exampleDestination({ id: 'gone' });
  await deployment.apply([exampleSource(), exampleDestination(), gone]);
  await withConfig(async (config) => {
    const { kafka, topology } = deployment;
    await withAdmin(kafka, (admin) => admin.deleteTopic(topology.topics.config));
    await createTopics(kafka, await inspectTopics(deployment));
    await deployment.apply([exampleSource(), exampleDestination({ name: 'Anew' })]);
    await eventually(() => {
      assert.equal(config.destination('gone'), undefined);
      assert.equal(config.destination('crm')?.name, 'Anew');
      assert.equal(config.isFresh(), true);
    });
    assert.equal(config.offset, 2);
  });
});
