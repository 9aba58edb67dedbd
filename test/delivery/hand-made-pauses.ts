import type { FollowedPauses } from '../../src/resources/pauses/pauses.ts';

/** No destination is paused. */
export const noPauses: Pick<FollowedPauses, 'has' | 'isFresh' | 'onChange'> = {
  has: () => false,
  isFresh: () => true,
  onChange: () => undefined,
};
