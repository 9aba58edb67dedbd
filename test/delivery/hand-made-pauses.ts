import type { FollowedPauses } from '../../src/resources/pauses/pauses.ts';

/** No destination is paused. */
export const noPauses: Pick<FollowedPauses, 'has' | 'onChange'> = {
  has: () => false,
  onChange: () => undefined,
};
