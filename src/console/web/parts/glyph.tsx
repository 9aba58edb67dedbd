import type { JSX } from 'preact';

/** Shapes differ as much as colours do: nobody has to tell red from green. */
const shapes = {
  check: 'M3.5 8.4l3 3 6-6.6',
  cross: 'M4.2 4.2l7.6 7.6M11.8 4.2l-7.6 7.6',
  lock: 'M4 7.5h8v5.5H4zM5.8 7.5V5.4a2.2 2.2 0 0 1 4.4 0v2.1',
  hand: 'M8 3.2v5.2l3 1.8M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12z',
  full: 'M3 13V9M6.4 13V6.5M9.8 13V4M13.2 13V2.5',
  slow: 'M2.5 12.5a6 6 0 1 1 11 0M8 10.5l2.8-4',
  limit: 'M2.5 4.5h11M2.5 11.5h11M8 4.5v7',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  off: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM3.8 12.2l8.4-8.4',
  wait: 'M4.5 2.5h7M4.5 13.5h7M5.2 2.5c0 3.2 5.6 3.6 5.6 5.5s-5.6 2.3-5.6 5.5M10.8 2.5c0 3.2-5.6 3.6-5.6 5.5s5.6 2.3 5.6 5.5',
  again: 'M13 8a5 5 0 1 1-1.6-3.7M13.2 1.8v3h-3',
  letter: 'M2.5 4h11v8.5h-11zM2.8 4.4L8 8.8l5.2-4.4',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.4 10.4l3.4 3.4',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  right: 'M6 3.5L10.5 8 6 12.5',
  dot: 'M8 8h.01',
} as const;

export type Shape = keyof typeof shapes;

/** Always beside a word: it is not read aloud. */
export function Glyph({ shape }: { readonly shape: Shape }): JSX.Element {
  return (
    <svg class="glyph" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={shapes[shape]} />
    </svg>
  );
}
