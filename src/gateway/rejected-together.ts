import type { RejectReason, Rejection } from '../event/rejection.ts';

/** A call on its way to `ingest.rejected`. */
export interface Rejected {
  readonly key: string | null;
  readonly value: string | Buffer;
  readonly rejection: Rejection;
}

/** This many calls of a request become records of their own, which can be found by their user. */
const mostAlone = 20;
/** A value has at most this many characters plus one call, far below Kafka's limit. */
const mostCharacters = 100_000;

/**
 * A small body may hold thousands of invalid calls. Beyond the first ones, those with the same reason share
 * values: `{"batch":[…]}`, each call as it was, with the detail of one.
 */
export function inFewRecords(rejected: readonly Rejected[]): readonly Rejected[] {
  if (rejected.length <= mostAlone) return rejected;
  return [...rejected.slice(0, mostAlone), ...together(rejected.slice(mostAlone))];
}

function together(rejected: readonly Rejected[]): readonly Rejected[] {
  const shared: Rejected[] = [];
  for (const of of byReason(rejected).values()) {
    let some: Rejected[] = [];
    let characters = 0;
    for (const each of of) {
      some.push(each);
      characters += each.value.length;
      if (characters <= mostCharacters) continue;
      shared.push(asOne(some));
      [some, characters] = [[], 0];
    }
    if (some.length > 0) shared.push(asOne(some));
  }
  return shared;
}

function byReason(rejected: readonly Rejected[]): ReadonlyMap<RejectReason, readonly Rejected[]> {
  const groups = new Map<RejectReason, Rejected[]>();
  for (const each of rejected) {
    const { reason } = each.rejection;
    const group = groups.get(reason);
    if (group === undefined) groups.set(reason, [each]);
    else group.push(each);
  }
  return groups;
}

function asOne(rejected: readonly Rejected[]): Rejected {
  const [first] = rejected;
  if (first === undefined) throw new RangeError('no call');
  if (rejected.length === 1) return first;
  const { reason, detail } = first.rejection;
  return {
    key: null,
    value: `{"batch":[${rejected.map(({ value }) => value.toString()).join()}]}`,
    rejection: { reason, detail: `${rejected.length} calls of one request; the first: ${detail}` },
  };
}
