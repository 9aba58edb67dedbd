import type { Aftermath } from '../../dead-letter/aftermath.ts';

/** The result of sending events again, for programs. */
export function aftermathData(aftermath: Aftermath, sent: number): object {
  const { beganMs, counts, retried, kept } = aftermath;
  return {
    since: new Date(beganMs).toISOString(),
    delivered: aftermath.isRestDelivered ? aftermath.restOf(sent) : null,
    toBeTriedAgain: retried,
    kept,
    givenUpAgain: counts.rows(),
  };
}

/** For people. */
export function presentAftermath(aftermath: Aftermath, sent: number): string[] {
  const { beganMs, counts, retried, kept, isFinished, hasBundles } = aftermath;
  const rest = aftermath.restOf(sent);
  const done = hasBundles ? 'delivered or put off' : 'delivered';
  const said = [
    `${rest} ${isFinished ? done : 'delivered or still on their way'}`,
    `${retried} waiting for a retry`,
    ...(kept === 0 ? [] : [`${kept} kept for a paused destination`]),
    `${counts.total} dead letters again`,
  ];
  const sentence = `result so far: ${said.join(', ')}`;
  if (counts.total === 0) return [sentence];
  const since = new Date(beganMs).toISOString();
  return [`${sentence}; dead-letters list --since ${since} shows these`, counts.present('event')];
}
