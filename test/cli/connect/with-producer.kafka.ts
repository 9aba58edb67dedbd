import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withProducer } from '../../../src/cli/connect/with-producer.ts';
import { createContext } from '../../../src/cli/context.ts';
import { install } from '../../harness/postrider.ts';

const sentences = {
  'none.such': 'create it with `postrider topics --create`',
  'web-calls': 'it is named in INGEST_TOPICS, and whoever owns it must create it',
};

for (const [topic, remedy] of Object.entries(sentences))
  test(`a command does not wait for ${topic}, which does not exist: it is told to begin no more, and then says so`, async () => {
    const { environment } = await install({ LOG_LEVEL: 'silent', INGEST_TOPICS: 'web-calls' });
    let signal: AbortSignal | undefined;
    const writing = withProducer(createContext(environment), (producer, ending) => {
      signal = ending;
      return producer.send([{ topic, key: 'a', value: 'b' }]);
    });
    await assert.rejects(writing, {
      code: 'not-found',
      message: `topic ${topic} does not exist; ${remedy}`,
    });
    assert.equal(signal?.aborted, true);
  });
