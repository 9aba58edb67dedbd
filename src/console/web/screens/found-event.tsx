import type { JSX } from 'preact';
import type { Story } from '../../api/answers/events.ts';
import { given, withQuery } from '../api.ts';
import { urlOf } from '../navigation.ts';
import { Id } from '../parts/data.tsx';
import { Shown } from '../parts/notes.tsx';
import { PageHead } from '../parts/page.tsx';
import { usePolled } from '../polled.ts';
import { useSession } from '../session.ts';
import { t } from '../texts/texts.ts';
import { EventStory, type StaffParts } from './event-story.tsx';

/** For a customer whose link shows bodies: one event at their destination, without a search, which is for staff. */
export function CustomerEventPage({
  destination,
  message,
  user,
}: {
  readonly destination: string;
  readonly message: string;
  readonly user: string;
}): JSX.Element {
  const { destination: only } = useSession();
  return (
    <>
      <p class="crumb">
        <a href={only === undefined ? urlOf.destination(destination) : urlOf.home}>
          <Id text={destination} />
        </a>
      </p>
      <PageHead title={t.story.title} />
      <FoundEvent message={message} user={user} destination={destination} />
    </>
  );
}

/** For each story the console reads Kafka, for a second or more. */
const storyMs = 60_000;

/** @param parts with which staff sees more; it can load the story anew */
export function FoundEvent({
  message,
  user,
  destination,
  parts,
}: {
  readonly message: string;
  readonly user: string;
  /** The story at this one alone; undefined: at all of them. */
  readonly destination?: string;
  readonly parts?: (reload: () => void) => StaffParts;
}): JSX.Element {
  const path = withQuery('/events', { message, user: given(user), destination });
  const story = usePolled<Story>(path, storyMs);
  return (
    <Shown of={story}>
      {(answer) => (
        <>
          <EventStory story={answer} {...parts?.(story.reload)} />
          <p class="look-again">
            <button type="button" onClick={story.reload}>
              {t.story.lookAgain}
            </button>
          </p>
        </>
      )}
    </Shown>
  );
}
