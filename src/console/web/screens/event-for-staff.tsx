import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Session } from '../../api/answers/deployment.ts';
import type { Story } from '../../api/answers/events.ts';
import { inOwnZone } from '../format.ts';
import { Clock, Data, Id } from '../parts/data.tsx';
import { Section } from '../parts/page.tsx';
import { Badge } from '../parts/state.tsx';
import type { StaffParts } from './event-story.tsx';
import { RedriveDialog } from './redrive-dialog.tsx';

/** An event's way through what runs here, and for operators the button that sends it again. */
export function partsFor(role: Session['role'], reload: () => void): StaffParts {
  return {
    received: (story) => <Received received={story.received} />,
    sendAgain:
      role === 'operator'
        ? (destination, of) => <SendAgain destination={destination} of={of} onSentAgain={reload} />
        : undefined,
  };
}

const receiptLooks = {
  routed: { word: 'Routed', tone: 'good', shape: 'check' },
  unwanted: { word: 'Not wanted', tone: 'idle', shape: 'off' },
  duplicate: { word: 'Duplicate', tone: 'idle', shape: 'off' },
  rejected: { word: 'Rejected', tone: 'bad', shape: 'cross' },
  unreadable: { word: 'Unreadable', tone: 'bad', shape: 'lock' },
  'not-routed-yet': { word: 'Not routed yet', tone: 'warn', shape: 'wait' },
} as const;

function Received({ received }: Pick<Story, 'received'>): JSX.Element {
  return (
    <Section title="Received">
      <ol class="timeline panel">
        {received.map(({ at, outcome, topic, place, detail }) => (
          <li key={`${topic} ${place}`} class={receiptLooks[outcome].tone}>
            <span class="timeline-at">
              <Clock at={at} />
            </span>
            <span>
              <Badge {...receiptLooks[outcome]} /> <Data text={inOwnZone(detail)} />
              <span class="under">
                <Id text={`${topic} ${place}`} />
              </span>
            </span>
          </li>
        ))}
        {received.length === 0 ? (
          <li class="idle">
            <span class="quiet">Its record in the ingest topics is not kept any more.</span>
          </li>
        ) : null}
      </ol>
    </Section>
  );
}

function SendAgain({
  destination,
  of: { messageId: message, user },
  onSentAgain,
}: {
  readonly destination: string;
  readonly of: Story;
  readonly onSentAgain: () => void;
}): JSX.Element {
  const [isSending, setSending] = useState(false);
  return (
    <p>
      <button
        type="button"
        onClick={() => {
          setSending(true);
        }}
      >
        Send again…
      </button>
      {isSending ? (
        <RedriveDialog
          destination={destination}
          event={user === null ? { message } : { message, user }}
          onClose={() => {
            setSending(false);
            onSentAgain();
          }}
        />
      ) : null}
    </p>
  );
}
