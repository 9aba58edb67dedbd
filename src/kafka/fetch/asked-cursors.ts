import type { FetchedPartition } from '../protocol/fetch.ts';
import type { Cursor } from './cursor.ts';

/** The cursors of one fetch. */

/** @returns by topic, as a request names them; those of one topic come one after the other */
export function byTopic(asked: readonly Cursor[]): { id: string; partitions: Cursor[] }[] {
  const topics: { id: string; partitions: Cursor[] }[] = [];
  for (const cursor of asked) {
    const last = topics.at(-1);
    if (last !== undefined && last.id === cursor.topicId) last.partitions.push(cursor);
    else topics.push({ id: cursor.topicId ?? '', partitions: [cursor] });
  }
  return topics;
}

/** Finds what a part of an answer is for. Brokers answer in the order of the request. */
export function finderIn<
  T extends { readonly topicId?: string | undefined; readonly partition: number },
>(asked: readonly T[]): (part: FetchedPartition) => T | undefined {
  let next = 0;
  return ({ topicId, partition }) => {
    for (let tries = asked.length; tries > 0; tries -= 1) {
      const cursor = asked[next];
      next = (next + 1) % asked.length;
      if (cursor?.partition === partition && cursor.topicId === topicId) return cursor;
    }
    return undefined;
  };
}
