import type { JSX } from 'preact';
import type { DestinationHealth } from '../../../event/destination-health.ts';
import { t } from '../texts/texts.ts';
import { Glyph, type Shape } from './glyph.tsx';

/** bad: events do not get through; strained: later than they could; idle: somebody wants it so. */
export type Tone = 'bad' | 'warn' | 'idle' | 'good';

interface Look {
  readonly word: string;
  readonly tone: Tone;
  readonly shape: Shape;
  readonly meaning: string;
}

const stateLooks: Readonly<Record<DestinationHealth, readonly [Tone, Shape]>> = {
  unreadable: ['bad', 'lock'],
  failing: ['bad', 'cross'],
  held: ['bad', 'hand'],
  losing: ['bad', 'letter'],
  unknown: ['warn', 'dot'],
  saturated: ['warn', 'full'],
  slow: ['warn', 'slow'],
  limited: ['warn', 'limit'],
  paused: ['idle', 'pause'],
  disabled: ['idle', 'off'],
  ok: ['good', 'check'],
};

export function lookOf(state: string): Look {
  if (!Object.hasOwn(stateLooks, state))
    return { word: state, tone: 'warn', shape: 'dot', meaning: t.unknownState };
  const known = state as DestinationHealth;
  const [tone, shape] = stateLooks[known];
  return { ...t.states[known], tone, shape };
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
  delivered: { tone: 'good', shape: 'check' },
  failed: { tone: 'bad', shape: 'cross' },
  refused: { tone: 'bad', shape: 'off' },
} as const;

export function OutcomeBadge({
  outcome,
}: {
  readonly outcome: keyof typeof outcomes;
}): JSX.Element {
  return <Badge {...outcomes[outcome]} word={t.outcomes[outcome]} />;
}
