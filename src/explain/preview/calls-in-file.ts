import { maxCallBytes } from '../../event/limits.ts';
import { parseCall } from '../../event/parse-call.ts';
import { splitLines, type Line } from '../../split-lines.ts';
import type { PlacedCall } from './preview.ts';

/** Stands in the place of a topic in the ids of calls that have none. */
const topic = 'calls';

/**
 * Reads NDJSON: one call a line, read as the router reads it. Blank lines are left out.
 * @param nowMs the time of calls that have none
 */
export async function* callsInFile(
  input: AsyncIterable<Buffer>,
  nowMs: number,
): AsyncGenerator<PlacedCall, void, undefined> {
  for await (const lines of splitLines(input, maxCallBytes))
    for (const line of lines) {
      const call = readLine(line, nowMs);
      if (call !== undefined) yield call;
    }
}

function readLine({ number, bytes }: Line, nowMs: number): PlacedCall | undefined {
  if (bytes.every((byte) => byte === 0x20 || byte === 0x09)) return undefined;
  const place = `line ${number}`;
  const origin = { topic, partition: 0, offset: number, appendTimeMs: nowMs };
  const { call, rejected } = parseCall(bytes, origin);
  if (call === undefined) return { place, problem: rejected.detail };
  const arrival = { origin, redrivenMs: undefined };
  return { place, read: { call, writeKey: call.writeKey ?? '', audience: undefined, arrival } };
}
