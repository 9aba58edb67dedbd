import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { counted } from '../format.ts';
import type { Column } from '../parts/table.tsx';
import { useSession } from '../session.ts';
import { RedriveDialog } from './redrive-dialog.tsx';

/** The most places that the API takes at once. */
const mostPlaces = 500;

/** Letters that an operator picks out of a list, also over several pages, to send them again. */
export function useLetterSelection(of: 'events' | 'calls'): {
  /** None for those who may not send. */
  readonly columns: readonly Column<{ readonly place: string }>[];
  readonly bar: JSX.Element | null;
} {
  const { role } = useSession();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [isSending, setSending] = useState(false);
  if (role !== 'operator') return { columns: [], bar: null };
  const toggle = (place: string): void => {
    const next = new Set(chosen);
    if (!next.delete(place) && next.size < mostPlaces) next.add(place);
    setChosen(next);
  };
  const column: Column<{ readonly place: string }> = {
    title: 'Choose',
    cell: ({ place }) => (
      <input
        type="checkbox"
        aria-label={`Choose ${place}`}
        checked={chosen.has(place)}
        onChange={() => {
          toggle(place);
        }}
      />
    ),
  };
  const noun = of === 'events' ? 'event' : 'call';
  const bar = (
    <>
      <p class="tools">
        <button
          type="button"
          disabled={chosen.size === 0}
          onClick={() => {
            setSending(true);
          }}
        >
          {chosen.size === 0
            ? `Send chosen ${noun}s again…`
            : `Send ${counted(chosen.size, noun)} again…`}
        </button>
        {chosen.size === 0 ? null : (
          <button
            type="button"
            class="plain"
            onClick={() => {
              setChosen(new Set());
            }}
          >
            Choose none
          </button>
        )}
      </p>
      {isSending ? (
        <RedriveDialog
          of={of}
          places={[...chosen]}
          onClose={() => {
            setSending(false);
            setChosen(new Set());
          }}
        />
      ) : null}
    </>
  );
  return { columns: [column], bar };
}
