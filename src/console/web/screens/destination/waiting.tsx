import type { JSX } from 'preact';
import type { DestinationDetail } from '../../../api/answers/destinations.ts';
import { count, counted } from '../../format.ts';
import { Time } from '../../parts/data.tsx';
import { Nothing } from '../../parts/notes.tsx';
import { Section } from '../../parts/page.tsx';
import { useWords } from '../../session.ts';

/** The waiting events, by where they wait. */
export function Waiting({ destination }: { readonly destination: DestinationDetail }): JSX.Element {
  const { waiting, waitingBy, nextTry, deadline, kept = 0, pause, state } = destination;
  const { becomesLetter } = useWords();
  const places = [
    { name: 'Ready to send', events: waitingBy.here, due: undefined },
    ...Object.entries(waitingBy.tiers).map(([tier, events]) => ({
      name: `Retry after ${tier}`,
      events,
      due: waitingBy.due[tier],
    })),
  ];
  const most = Math.max(1, ...places.map(({ events }) => events));
  return (
    <Section title="Waiting">
      {waiting === 0 ? (
        <Nothing title={kept > 0 ? `${counted(kept, 'event')} kept.` : 'No events wait.'}>
          {kept > 0 || pause !== undefined
            ? 'It is paused: what comes is kept for 14 days, and Resume sends it.'
            : state === 'unknown'
              ? 'As far as is known: nobody reports on it.'
              : 'Everything was sent, or has ended.'}
        </Nothing>
      ) : (
        <div class="panel">
          <dl class="tiers">
            {places.map(({ name, events, due }) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>
                  <svg
                    class="tier"
                    viewBox="0 0 100 8"
                    preserveAspectRatio="none"
                    aria-hidden="true"
                  >
                    <rect class="band-none" width="100" height="8" />
                    <rect class="tier-bar" width={(events / most) * 100} height="8" />
                  </svg>
                  <span class="tier-count">{count(events)}</span>
                  <span class="tier-due quiet">
                    {due === undefined || events === 0 ? null : (
                      <>
                        due <Time at={due.from} /> to <Time at={due.until} />
                      </>
                    )}
                  </span>
                </dd>
              </div>
            ))}
          </dl>
          {nextTry === undefined && deadline === undefined ? null : (
            <p class="quiet tiers-note">
              {nextTry === undefined ? null : (
                <>
                  Next attempt <Time at={nextTry} />.{' '}
                </>
              )}
              {deadline === undefined ? null : (
                <>
                  The first event {becomesLetter} <Time at={deadline} />.
                </>
              )}
            </p>
          )}
        </div>
      )}
    </Section>
  );
}
