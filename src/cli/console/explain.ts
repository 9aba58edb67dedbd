import type { ExplainedEvent } from '../../console/api/routes/route.ts';
import type { ConsoleDeps } from '../../console/console.ts';
import type { Evidence } from '../../explain/evidence.ts';
import { lookUp } from '../../explain/look-up.ts';
import { ownEvidence, ownStory, tellStory } from '../../explain/story.ts';
import { systemClock } from '../../ops/clock.ts';
import { openSchemas } from '../../schemas/open-schemas.ts';
import type { Topology } from '../../topology.ts';
import { registryAccess } from '../connect/connection.ts';
import type { Context } from '../context.ts';

/** Explains events to the console, which has neither settings nor the access to a schema registry. */
export async function consoleExplain(
  context: Context,
  topology: Topology,
): Promise<ConsoleDeps['explain']> {
  const { kafka, settings, credentials } = context;
  const { dedupeWindowMs } = settings;
  const schemas = await openSchemas(registryAccess(settings, credentials), systemClock);
  return async (messageId, user, signal, destination) => {
    const nowMs = systemClock.now();
    const evidence = await lookUp(
      { kafka, topology, nowMs, schemas, onReader: () => undefined, signal },
      { messageId, user, sinceMs: undefined, dedupeWindowMs, destinationId: destination?.id },
    );
    if (destination !== undefined) {
      const own = ownEvidence(evidence, destination);
      const story = ownStory(own);
      return story && { story, bodies: bodiesOf(own) };
    }
    const { calls, rejected, lines, letters, waiting } = evidence;
    const found = [calls, rejected, lines, letters, waiting].some(({ length }) => length > 0);
    return found ? { story: tellStory(evidence), bodies: bodiesOf(evidence) } : undefined;
  };
}

function bodiesOf({ bodies }: Evidence): ExplainedEvent['bodies'] {
  return bodies.map(({ id, uid, body }) => ({ id, uid, body: body.toString() }));
}
