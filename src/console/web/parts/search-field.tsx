import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Glyph } from './glyph.tsx';

const typingPauseMs = 250;

/** Searches while one types, when the fingers rest. */
export function SearchField({
  label,
  value,
  onSearch,
}: {
  readonly label: string;
  readonly value: string;
  readonly onSearch: (text: string) => void;
}): JSX.Element {
  const [text, setText] = useState(value);
  const timer = useRef<number | undefined>(undefined);
  useEffect(() => {
    setText(value);
  }, [value]);
  const change = (next: string): void => {
    setText(next);
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      onSearch(next.trim());
    }, typingPauseMs);
  };
  return (
    <label class="search">
      <span class="unseen">{label}</span>
      <Glyph shape="search" />
      <input
        type="search"
        value={text}
        placeholder={label}
        autoComplete="off"
        spellcheck={false}
        onInput={(event) => {
          change(event.currentTarget.value);
        }}
      />
    </label>
  );
}
