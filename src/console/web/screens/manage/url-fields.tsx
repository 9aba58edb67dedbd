import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { filled, t } from '../../texts/texts.ts';
import { mostUrls, type UrlEntry } from './entries.ts';
import { TextField } from './fields.tsx';

/** The URLs of an endpoint, which can be more and fewer. */
export function UrlFields({
  urls,
  problemOf,
  onChange,
}: {
  readonly urls: readonly UrlEntry[];
  readonly problemOf: (index: number) => ComponentChildren;
  readonly onChange: (urls: readonly UrlEntry[]) => void;
}): JSX.Element {
  const words = t.form;
  const list = useRef<HTMLDivElement>(null);
  const [focused, setFocused] = useState<number>();
  // The button that was pressed may be gone, and the focus with it.
  useEffect(() => {
    if (focused === undefined) return;
    list.current?.querySelectorAll('input')[focused]?.focus();
    setFocused(undefined);
  }, [focused]);
  const labelOf = (index: number): string =>
    urls.length === 1 ? words.url : filled(words.urlOf, { n: index + 1 });
  return (
    <div ref={list} class="urls">
      {urls.map(({ url, ...entry }, index) => (
        <div key={index} class="url-line">
          <TextField
            kind="url"
            label={labelOf(index)}
            hint={index === 0 ? t.add.urlHint : undefined}
            isRequired
            value={url}
            problem={problemOf(index)}
            onChange={(changed) => {
              onChange(urls.with(index, { ...entry, url: changed }));
            }}
          />
          {urls.length === 1 ? null : (
            <button
              type="button"
              aria-label={filled(words.removeUrlOf, { n: index + 1 })}
              onClick={() => {
                onChange(urls.toSpliced(index, 1));
                setFocused(Math.max(0, index - 1));
              }}
            >
              {words.removeUrl}
            </button>
          )}
        </div>
      ))}
      {urls.length === 1 ? null : <p class="quiet">{words.severalUrls}</p>}
      {urls.length >= mostUrls ? null : (
        <button
          type="button"
          onClick={() => {
            onChange([...urls, { url: '' }]);
            setFocused(urls.length);
          }}
        >
          {words.addUrl}
        </button>
      )}
    </div>
  );
}
