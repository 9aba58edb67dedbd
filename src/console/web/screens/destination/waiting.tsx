import type { JSX } from 'preact';
import type { DestinationDetail } from '../../../api/answers/destinations.ts';
import { count } from '../../format.ts';
import { Time } from '../../parts/data.tsx';
import { Nothing } from '../../parts/notes.tsx';
import { Section } from '../../parts/page.tsx';
import { useWords } from '../../session.ts';
import { filled, plural, rich, t } from '../../texts/texts.ts';

/** The waiting events, by where they wait. */
export function Waiting({ destination }: { readonly destination: DestinationDetail }): JSX.Element {
  const { waiting, waitingBy, nextTry, deadline, kept = 0, pause, state } = destination;
  const { becomesLetter } = useWords();
  const places = [
    { name: t.waiting.ready, events: waitingBy.here, due: undefined },
    ...Object.entries(waitingBy.tiers).map(([tier, events]) => ({
      name: filled(t.waiting.retryAfter, { tier }),
      events,
      due: waitingBy.due[tier],
    })),
  ];
  const most = Math.max(1, ...places.map(({ events }) => events));
  return (
    <Section title={t.waiting.title}>
      {waiting === 0 ? (
        <Nothing title={kept > 0 ? plural(kept, t.waiting.kept) : t.waiting.none}>
          {kept > 0 || pause !== undefined
            ? t.waiting.whenPaused
            : state === 'unknown'
              ? t.waiting.whenUnknown
              : t.waiting.whenDone}
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
                    {due === undefined || events === 0
                      ? null
                      : rich(t.waiting.due, {
                          from: <Time at={due.from} />,
                          until: <Time at={due.until} />,
                        })}
                  </span>
                </dd>
              </div>
            ))}
          </dl>
          {nextTry === undefined && deadline === undefined ? null : (
            <p class="quiet tiers-note">
              {nextTry === undefined
                ? null
                : rich(t.waiting.nextTry, { time: <Time at={nextTry} /> })}{' '}
              {deadline === undefined
                ? null
                : rich(becomesLetter, { time: <Time at={deadline} /> })}
            </p>
          )}
        </div>
      )}
    </Section>
  );
}
