import type { FollowedPauses } from '../../src/resources/pauses/pauses.ts';
import { Recalls } from '../../src/resources/pauses/recall.ts';

/** No destination is paused, and nothing recalled. */
export const noPauses: Pick<
  FollowedPauses,
  'has' | 'isFresh' | 'recalls' | 'onChange' | 'onRecall'
> = {
  has: () => false,
  isFresh: () => true,
  recalls: new Recalls(),
  onChange: () => undefined,
  onRecall: () => undefined,
};
