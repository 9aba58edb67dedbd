import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLogger, type Logger } from '../../src/ops/log.ts';
import { failsWith, minuteMs, SimulatedWorld } from './simulated-world.ts';

interface Line {
  readonly level: 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** What operators see; the lines below `warn` are left out. */
function recordingLog(): { readonly log: Logger; readonly lines: Line[] } {
  const lines: Line[] = [];
  const noteAs =
    (level: Line['level']) =>
    (fields: object, message: string): void => {
      lines.push({ level, message, fields: { ...fields } });
    };
  const log = { ...silentLogger, warn: noteAs('warn'), error: noteAs('error') };
  return { log, lines };
}

test('the line of an event that is given up counts the same attempts as its dead letter', async () => {
  const { log, lines } = recordingLog();
  const world = new SimulatedWorld({ log });
  world.addDestination('crm');
  world.answer = () => failsWith(404);
  world.publish('crm');
  await world.clock.pass(minuteMs);
  assert.equal(world.deadLetters[0]?.attempts, 1);
  const [line] = lines.filter(({ message }) => message.startsWith('event given up'));
  assert.equal(line?.fields['attempts'], 1);
});
