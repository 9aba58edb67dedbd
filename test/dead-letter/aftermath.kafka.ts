import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createContext } from '../../src/cli/context.ts';
import { Aftermath } from '../../src/dead-letter/aftermath.ts';
import { encodeBundleHeader } from '../../src/delivery/bundle/format.ts';
import { envelopeHeader } from '../../src/event/envelope.ts';
import { systemClock } from '../../src/ops/clock.ts';
import { startLetterbox } from './letterbox.ts';

test('what became of a redrive is not read any more once it is to end, and is then not called complete', async (t) => {
  const box = await startLetterbox();
  t.after(() => box.close());
  const context = createContext(box.postrider.environment);
  const [kafka, topology] = [context.kafka, await context.topology()];
  const begin = (): Promise<Aftermath> => Aftermath.begin({ kafka, topology, clock: systemClock });
  const [told, waited] = [await begin(), await begin()];
  // As a bundle: it names no event.
  await box.put([{ key: 'crm', value: '' }], 'retry.500ms');

  await told.wait(60_000, AbortSignal.abort());
  assert.deepEqual([told.isFinished, told.hasBundles], [false, false]);

  const { signal } = new AbortController();
  await waited.wait(60_000, signal);
  assert.deepEqual([waited.isFinished, waited.hasBundles], [true, true]);

  const [ofOthers, ofOurs] = [await begin(), await begin()];
  ofOthers.sentTo(topology.topics.deadLetter, 'ads');
  ofOurs.sentTo(topology.topics.deadLetter, 'crm');
  const header = encodeBundleHeader({ destinationId: 'crm', events: 9, dueMs: 1, oldestMs: 1 });
  await box.put([{ key: 'crm', value: '', headers: { [envelopeHeader]: header } }], 'retry.500ms');
  for (const each of [ofOthers, ofOurs]) await each.wait(1, signal);
  assert.deepEqual([ofOthers.hasBundles, ofOurs.hasBundles], [false, true]);
});
