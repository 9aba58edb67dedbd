import type { Payload } from '../../event/body.ts';
import type { CallPath } from '../../event/call-path.ts';
import { almost, hintAmong } from '../../near.ts';

/** The usual fields of calls. A call may have others, which only the payload `full` has as well. */
const usualFields = [
  ...['type', 'messageId', 'userId', 'anonymousId', 'groupId', 'previousId'],
  ...['event', 'name', 'category', 'properties', 'traits', 'context', 'integrations'],
  ...['timestamp', 'originalTimestamp', 'sentAt', 'receivedAt', 'version', 'channel'],
];

/** The keys of the payload `standard`, whatever the type of the call is. */
const standardKeys = [
  ...['version', 'type', 'userId', 'anonymousId', 'event', 'name', 'groupId'],
  ...['properties', 'traits', 'context', 'timestamp', 'Previous ID', 'User ID'],
];

/** Always text in a call. */
const texts = ['type', 'messageId', 'userId', 'anonymousId', 'timestamp'];
const standardTexts = [...texts, 'version', 'event', 'groupId', 'Previous ID', 'User ID'];

/** Why no call can have a value at the path; undefined: one can. */
export function callPathProblem([first, ...rest]: CallPath): string | undefined {
  if (first === 'writeKey') return 'names the write key, which is never sent';
  if (rest.length > 0 && texts.includes(first)) return `goes into ${first}, which is a text`;
  const meant = usualFields.includes(first) ? undefined : almost(first, usualFields);
  return meant && `begins with ${first}; did you mean ${meant}?`;
}

/** Why no body of this payload can have a value at the path; undefined: one can. */
export function bodyPathProblem(path: CallPath, payload: Payload): string | undefined {
  if (payload === 'full') return callPathProblem(path);
  const [first, ...rest] = path;
  if (!standardKeys.includes(first))
    return `is not in a body of payload: standard${hintAmong(first, standardKeys, 'those have')}`;
  const isText = rest.length > 0 && standardTexts.includes(first);
  return isText ? `goes into ${first}, which is no mapping` : undefined;
}
