import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { filled, t } from '../texts/texts.ts';
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

/** One of a few. */
export function Choice<const Value extends string>({
  label,
  values,
  chosen,
  onChoose,
}: {
  readonly label: string;
  readonly values: readonly (readonly [value: Value, text: string])[];
  readonly chosen: Value;
  readonly onChoose: (value: Value) => void;
}): JSX.Element {
  return (
    <div class="choice" role="group" aria-label={label}>
      {values.map(([value, text]) => (
        <button
          key={value}
          type="button"
          aria-pressed={value === chosen}
          onClick={() => {
            onChoose(value);
          }}
        >
          {text}
        </button>
      ))}
    </div>
  );
}

/** Browsers have a clipboard for pages by HTTPS and of the own machine only; elsewhere there is no button. */
export function Copy({
  text,
  what,
}: {
  readonly text: string;
  readonly what: string;
}): JSX.Element | null {
  const [copied, setCopied] = useState<string>();
  if (!isSecureContext) return null;
  const isCopied = copied === text;
  return (
    <>
      <button
        type="button"
        class="plain copy"
        aria-label={filled(t.copyWhat, { what })}
        onClick={(event) => {
          const { parentElement } = event.currentTarget;
          void copyText(text, parentElement ?? document.body).then(() => {
            setCopied(text);
          });
        }}
      >
        {isCopied ? t.copied : t.copy}
      </button>
      <span class="unseen" role="status">
        {isCopied ? t.copied : ''}
      </span>
    </>
  );
}

/**
 * A page in a frame has the clipboard only if the page around it allows that; the older command needs no leave.
 * @param near in the same dialog, because nothing outside of it can be selected
 */
async function copyText(text: string, near: HTMLElement): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    area.className = 'unseen';
    near.append(area);
    area.select();
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- nothing else works in such a frame
    document.execCommand('copy');
    area.remove();
  }
}

/** The browser's own: it keeps the focus inside, closes on Escape, and gives the focus back. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}): JSX.Element {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => {
      dialog?.close();
    };
  }, []);
  // A button that has done its work goes, and the focus with it.
  useLayoutEffect(() => {
    if (element.current?.open === true && document.activeElement === document.body)
      element.current.focus();
  });
  return (
    <dialog ref={element} tabIndex={-1} aria-labelledby="dialog-title" onClose={onClose}>
      <h2 id="dialog-title">{title}</h2>
      {children}
    </dialog>
  );
}
