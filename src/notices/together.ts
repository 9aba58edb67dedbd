import { createHash } from 'node:crypto';
import type { Notice } from '../event/notice.ts';

/** More notices of one kind than this are told as one. */
const mostApart = 3;
/** So many ids fit into a line of a chat, and so many into a notice. */
const mostInText = 5;
const mostListed = 100;

/**
 * The notices that a hook gets of those that are due at the same time: where a platform with hundreds of customers fails,
 * one that names how many.
 */
export function together(notices: readonly Notice[]): Notice[] {
  const groups = new Map<string, Notice[]>();
  for (const each of notices) {
    const kind = `${each.notice} ${each.after ?? ''}`;
    const known = groups.get(kind);
    if (known === undefined) groups.set(kind, [each]);
    else known.push(each);
  }
  return [...groups.values()].flatMap((group) => asOne(group) ?? group);
}

/** It is about the destination that has failed for longest, and says which others it is about. */
function asOne(group: readonly Notice[]): Notice | undefined {
  const sorted = group.toSorted((a, b) => a.since.localeCompare(b.since));
  const [longest] = sorted;
  if (longest === undefined || sorted.length <= mostApart) return undefined;
  const hash = createHash('sha256');
  // After a crash, the next watcher derives the same id for the same notices.
  for (const id of sorted.map((each) => each.id).toSorted()) hash.update(`${id}\n`);
  const ids = sorted.map(({ destination }) => destination);
  return {
    ...longest,
    id: `notices-${hash.digest('hex').slice(0, 16)}`,
    count: ids.length,
    destinations: ids.slice(0, mostListed),
    text: textOf(longest, ids),
  };
}

function textOf({ notice, after = '', since }: Notice, ids: readonly string[]): string {
  const more = ids.length - mostInText;
  const named = ids.slice(0, mostInText).join(', ') + (more > 0 ? ` and ${more} more` : '');
  switch (notice) {
    case 'well':
      return `${ids.length} destinations work again: ${named}.`;
    case 'disabled':
      return `${ids.length} destinations are paused, because nothing has reached them for long: ${named}. Their events are kept; \`postrider resume\` sends them.`;
    case 'failing':
      return `${ids.length} destinations have failed for ${after}, the first since ${since.slice(0, 16).replace('T', ' ')} UTC: ${named}.`;
  }
}
