import type { Aftermath } from '../../dead-letter/aftermath.ts';

/** What became of so many events that were sent again, for programs. */
export function aftermathData(aftermath: Aftermath, sent: number): object {
  const { beganMs, counts, retried, isFinished, hasBundles } = aftermath;
  return {
    since: new Date(beganMs).toISOString(),
    // Those that were put off together cannot be told from those that were delivered.
    delivered: isFinished && !hasBundles ? restOf(aftermath, sent) : null,
    toBeTriedAgain: retried,
    givenUpAgain: counts.rows(),
  };
}

/** For people. */
export function presentAftermath(aftermath: Aftermath, sent: number): string[] {
  const { beganMs, counts, retried, isFinished, hasBundles } = aftermath;
  const rest = restOf(aftermath, sent);
  const done = hasBundles ? 'delivered or put off' : 'delivered';
  const said = [
    `${rest} ${isFinished ? done : 'delivered or still on their way'}`,
    `${retried} to be tried again`,
    `${counts.total} given up again`,
  ];
  const sentence = `so far: ${said.join(', ')}`;
  if (counts.total === 0) return [sentence];
  const since = new Date(beganMs).toISOString();
  return [`${sentence}; dead-letters list --since ${since} shows these`, counts.present('event')];
}

function restOf({ counts, retried }: Aftermath, sent: number): number {
  return Math.max(0, sent - counts.total - retried);
}
