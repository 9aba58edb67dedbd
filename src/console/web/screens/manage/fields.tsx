import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';
import { Glyph } from '../../parts/glyph.tsx';

/** A line of text, with what it is for and what is wrong with it. */
export function TextField({
  label,
  hint,
  problem,
  value,
  kind = 'text',
  isRequired = false,
  onChange,
}: {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly problem?: ComponentChildren;
  readonly value: string;
  readonly kind?: 'text' | 'url';
  readonly isRequired?: boolean;
  readonly onChange: (value: string) => void;
}): JSX.Element {
  const id = useId();
  const hasProblem = problem !== undefined && problem !== null;
  const described = [
    hint === undefined ? '' : `${id}-hint`,
    hasProblem ? `${id}-problem` : '',
  ].filter((each) => each !== '');
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {hint === undefined ? null : (
        <span class="quiet" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      <input
        id={id}
        // Browsers check URLs in their own words; these pages and the API have theirs.
        inputMode={kind}
        value={value}
        autoComplete="off"
        spellcheck={false}
        aria-required={isRequired}
        aria-invalid={hasProblem}
        aria-describedby={described.length === 0 ? undefined : described.join(' ')}
        onInput={(event) => {
          onChange(event.currentTarget.value);
        }}
      />
      {hasProblem ? <FieldNote id={`${id}-problem`}>{problem}</FieldNote> : null}
    </div>
  );
}

/** The problem of the field above. */
export function FieldNote({
  id,
  children,
}: {
  readonly id?: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <p class="field-problem" id={id}>
      <Glyph shape="cross" />
      <span>{children}</span>
    </p>
  );
}

/** After a refusal, the first field that is marked has the focus. */
export function focusFirstProblem(form: HTMLElement | null): void {
  requestAnimationFrame(() => {
    form?.querySelector<HTMLElement>('[aria-invalid="true"], .field-problem ~ * input')?.focus();
  });
}
