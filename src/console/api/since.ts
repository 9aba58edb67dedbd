import type { LiveState } from '../index/live-state.ts';
import type { Session, Story } from './model.ts';

/** To a customer, nothing is shown that a former destination of the id left: it may be another customer's. */
export function shownFromMs(
  { pauses }: Pick<LiveState, 'pauses'>,
  session: Session | null,
): number {
  const endedMs =
    session?.destination === undefined ? undefined : pauses.endedMs(session.destination);
  return endedMs === undefined ? 0 : endedMs + 1;
}

/** All of an event whose call came since then, and of an older one what happened since. */
export function storyFrom(story: Story, fromMs: number): Story {
  const isShown = ({ at }: { readonly at: string }): boolean => Date.parse(at) >= fromMs;
  if (story.received.some((each) => each.outcome !== 'duplicate' && isShown(each))) return story;
  const destinations = story.destinations
    .map((each) => ({ ...each, happened: each.happened.filter(isShown) }))
    .filter(({ happened }) => happened.length > 0);
  return { ...story, destinations };
}
