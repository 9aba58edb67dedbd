import type { JSX } from 'preact';
import type { DestinationHealth } from '../../../event/destination-health.ts';
import { Glyph, type Shape } from './glyph.tsx';

/** bad: events do not get through; strained: later than they could; idle: somebody wants it so. */
export type Tone = 'bad' | 'warn' | 'idle' | 'good';

interface Look {
  readonly word: string;
  readonly tone: Tone;
  readonly shape: Shape;
  readonly meaning: string;
}

const stateLooks: Readonly<Record<DestinationHealth, Look>> = {
  unreadable: {
    word: 'Unreadable',
    tone: 'bad',
    shape: 'lock',
    meaning: 'Its secrets cannot be decrypted here, so nothing is sent.',
  },
  failing: {
    word: 'Failing',
    tone: 'bad',
    shape: 'cross',
    meaning: 'A URL has failed or refused everything lately.',
  },
  held: {
    word: 'Held',
    tone: 'bad',
    shape: 'hand',
    meaning: 'The endpoint asked to be left alone for a while (429 or Retry-After).',
  },
  losing: {
    word: 'Losing events',
    tone: 'bad',
    shape: 'letter',
    meaning: 'Some of its events are given up for good, and others arrive.',
  },
  unknown: {
    word: 'Unknown',
    tone: 'warn',
    shape: 'dot',
    meaning: 'Nobody reports how it is, or what is known is older than its last event.',
  },
  saturated: {
    word: 'Saturated',
    tone: 'warn',
    shape: 'full',
    meaning: 'It gets more events than it takes, so events wait.',
  },
  slow: {
    word: 'Slow',
    tone: 'warn',
    shape: 'slow',
    meaning: 'It takes more than a second to answer.',
  },
  limited: {
    word: 'Limited',
    tone: 'warn',
    shape: 'limit',
    meaning: 'Its own rate limit makes events wait.',
  },
  paused: {
    word: 'Paused',
    tone: 'idle',
    shape: 'pause',
    meaning: 'An operator paused it. Its events are kept for 14 days.',
  },
  disabled: {
    word: 'Disabled',
    tone: 'idle',
    shape: 'off',
    meaning: 'Its configuration disables it. No events are sent to it.',
  },
  ok: {
    word: 'OK',
    tone: 'good',
    shape: 'check',
    meaning: 'The last event arrived, or there was none yet.',
  },
};

export function lookOf(state: string): Look {
  return Object.hasOwn(stateLooks, state)
    ? stateLooks[state as DestinationHealth]
    : { word: state, tone: 'warn', shape: 'dot', meaning: 'This page does not know the state.' };
}

/** Shape, colour and word. */
export function StateBadge({ state }: { readonly state: DestinationHealth }): JSX.Element {
  const { word, tone, shape, meaning } = lookOf(state);
  return (
    <span class={`badge ${tone}`} title={meaning}>
      <Glyph shape={shape} />
      {word}
    </span>
  );
}

export function Badge({
  tone,
  shape,
  word,
}: {
  readonly tone: Tone;
  readonly shape: Shape;
  readonly word: string;
}): JSX.Element {
  return (
    <span class={`badge ${tone}`}>
      <Glyph shape={shape} />
      {word}
    </span>
  );
}

const outcomes = {
  delivered: { word: 'Delivered', tone: 'good', shape: 'check' },
  failed: { word: 'Failed', tone: 'bad', shape: 'cross' },
  refused: { word: 'Refused', tone: 'bad', shape: 'off' },
} as const;

export function OutcomeBadge({
  outcome,
}: {
  readonly outcome: keyof typeof outcomes;
}): JSX.Element {
  return <Badge {...outcomes[outcome]} />;
}
