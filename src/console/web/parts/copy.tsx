import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

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
        aria-label={`Copy ${what}`}
        onClick={() => {
          void navigator.clipboard.writeText(text).then(() => {
            setCopied(text);
          });
        }}
      >
        {isCopied ? 'Copied' : 'Copy'}
      </button>
      <span class="unseen" role="status">
        {isCopied ? 'Copied' : ''}
      </span>
    </>
  );
}
