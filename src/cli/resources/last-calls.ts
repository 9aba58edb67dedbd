import { compareVersions, type Treated } from '../../explain/preview/compare.ts';
import { lastCallsInKafka } from '../../explain/preview/last-calls.ts';
import type { PlacedCall } from '../../explain/preview/preview.ts';
import { systemClock } from '../../ops/clock.ts';
import type { Plan } from '../../resources/apply/apply.ts';
import type { Change } from '../../resources/apply/plan.ts';
import { readableOfKind } from '../../resources/config/stored-resources.ts';
import type { Destination, Source } from '../../resources/resource.ts';
import type { ReadCall } from '../../router/read-call.ts';
import { openSchemas } from '../../schemas/open-schemas.ts';
import { registryAccess } from '../connect/connection.ts';
import type { Context } from '../context.ts';

/** The newest calls of a source that Kafka has. */
export async function readLastCalls(
  context: Context,
  { id, writeKeys }: Pick<Source, 'id' | 'writeKeys'>,
  count: number,
): Promise<readonly PlacedCall[]> {
  const { settings, credentials, kafka } = context;
  const keys = new Set(writeKeys);
  const isOfSource = ({ audience, writeKey }: ReadCall): boolean =>
    audience === undefined ? keys.has(writeKey) : audience.sourceId === id;
  const topology = await context.topology();
  const schemas = await openSchemas(registryAccess(settings, credentials), systemClock);
  return lastCallsInKafka({ kafka, topology, schemas }, isOfSource, count);
}

/**
 * Counts, for each changed destination, the newest calls of its sources that it would treat differently.
 * @param count of calls of each source
 */
export async function compareLastCalls(
  context: Context,
  { changes, stored }: Plan,
  count: number,
): Promise<ReadonlyMap<Change, readonly Treated[]>> {
  const before = new Map(readableOfKind(stored, 'Destination').map((each) => [each.id, each]));
  const sources = new Map(readableOfKind(stored, 'Source').map((each) => [each.id, each]));
  for (const { resource } of changes)
    if (resource?.kind === 'Source') sources.set(resource.id, resource);
  const calls = new Map<string, readonly ReadCall[]>();
  const treated = new Map<Change, readonly Treated[]>();
  for (const change of changes) {
    if (change.kind !== 'Destination' || change.action === 'unchanged') continue;
    const former = before.get(change.id);
    const present = change.resource as Destination | undefined;
    const ofChange: Treated[] = [];
    for (const id of new Set([...(former?.sources ?? []), ...(present?.sources ?? [])])) {
      const source = sources.get(id);
      if (source === undefined) continue;
      const known = calls.get(id) ?? callsOf(await readLastCalls(context, source, count));
      calls.set(id, known);
      ofChange.push(compareVersions(former, present, source, known));
    }
    treated.set(change, ofChange);
  }
  return treated;
}

function callsOf(placed: readonly PlacedCall[]): readonly ReadCall[] {
  return placed.flatMap(({ read }) => read ?? []);
}
