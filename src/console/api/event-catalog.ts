import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { PostriderError } from '../../errors.ts';
import { callTypes } from '../../event/call.ts';
import { idIn } from '../../event/uid.ts';
import { Followed } from '../../ops/followed.ts';
import type { Logger } from '../../ops/log.ts';
import { parseDocuments } from '../../resources/apply/document.ts';
import { noVariables } from '../../resources/apply/interpolate.ts';
import { formatPath, formatProblem } from '../../resources/problem.ts';
import type { SeenName } from '../index/event-names.ts';
import type { EventName } from './answers/events.ts';

const setting = 'CONSOLE_EVENTS_FILE';
const mostBytes = 1024 * 1024;

const schema = z.strictObject({
  type: z.enum(callTypes, `must be one of ${callTypes.join(', ')}`).default('track'),
  name: z.exactOptional(z.string('must be text').min(1, 'must not be empty').max(200)),
  description: z.exactOptional(z.string('must be text').max(500, 'at most 500 characters')),
  example: z.exactOptional(z.record(z.string(), z.unknown(), 'must be a map, as a call is')),
});

/** The kinds of events that the platform offers to its customers. */
export type EventCatalog = readonly Omit<EventName, 'seen'>[];

/** @throws PostriderError `setting-invalid` with the first thing that is wrong, and its line */
export function parseCatalog(file: string, text: string): EventCatalog {
  if (text.length > mostBytes) throw invalid(`${file}: longer than 1 MB`);
  const { documents, problems } = parseDocuments(file, text, 'yaml', noVariables);
  const [problem] = problems;
  if (problem !== undefined) throw invalid(formatProblem(problem));
  const found = new Map<string, EventCatalog[number]>();
  for (const document of documents) {
    const fail = (path: readonly PropertyKey[], reason: string): PostriderError => {
      const line = document.lineOf(path);
      return invalid(formatProblem({ file, line, path: formatPath(path), reason }));
    };
    const { data, error } = schema.safeParse(document.value);
    const [issue] = error?.issues ?? [];
    if (issue?.code === 'unrecognized_keys')
      throw fail([issue.keys[0] ?? ''], 'unknown field; allowed: type, name, description, example');
    if (issue !== undefined) throw fail(issue.path, issue.message);
    if (data === undefined) continue;
    if (data.type === 'track' && data.name === undefined)
      throw fail([], 'a track event needs a name');
    if (found.has(keyOf(data))) throw fail(['name'], `${data.name ?? data.type} is there twice`);
    found.set(keyOf(data), data);
  }
  return [...found.values()];
}

/**
 * The catalogue in the file as it is now; where it becomes wrong, as it was.
 * @throws PostriderError `setting-invalid`
 */
export function followCatalog(file: string, log: Logger): Followed<EventCatalog> {
  const read = (): EventCatalog => {
    let text: string;
    try {
      text = readFileSync(file, 'utf8');
    } catch (cause) {
      const sentence = `${setting} names "${file}", which cannot be read`;
      throw new PostriderError('setting-invalid', sentence, { cause });
    }
    return parseCatalog(file, text);
  };
  return new Followed({ what: setting, read, usedBy: 'new requests', log });
}

/** The catalogue in its order with what was seen of it, and behind it the other names that were seen. */
export function eventNamesOf(
  catalog: EventCatalog,
  seenNames: readonly SeenName[],
): readonly EventName[] {
  const seen = new Map(seenNames.map((each) => [keyOf(each), each]));
  const offered = catalog.map((each): EventName => {
    const last = seen.get(keyOf(each));
    return last === undefined ? each : { ...each, seen: lastOf(last) };
  });
  const known = new Set(catalog.map(keyOf));
  const others = seenNames
    .filter((each) => !known.has(keyOf(each)))
    .map((each): EventName => {
      const type = each.type as EventName['type'];
      const last = lastOf(each);
      return each.name === null ? { type, seen: last } : { type, name: each.name, seen: last };
    });
  return [...offered, ...others];
}

function lastOf({ atMs, messageId, destination }: SeenName): NonNullable<EventName['seen']> {
  return { at: new Date(atMs).toISOString(), messageId, destination: idIn(destination) };
}

function keyOf({ type, name }: { readonly type: string; readonly name?: string | null }): string {
  return JSON.stringify([type, name ?? null]);
}

function invalid(sentence: string): PostriderError {
  return new PostriderError('setting-invalid', sentence);
}
