import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { hasMoved } from '../navigation.ts';
import { brand } from '../session.ts';
import { printable } from '../../../printable.ts';

/** Its heading gets the focus when one comes here by a link, as with pages that a browser loads. */
export function PageHead({
  title,
  heading,
  children,
  lead,
}: {
  /** The window's title. */
  readonly title: string;
  readonly heading?: ComponentChildren;
  /** One sentence: what there is to know. */
  readonly lead?: ComponentChildren;
  /** The actions, at the right. */
  readonly children?: ComponentChildren;
}): JSX.Element {
  useEffect(() => {
    document.title = `${printable(title)} · ${brand}`;
  }, [title]);
  const head = useRef<HTMLHeadingElement>(null);
  // What is loaded after a link has a heading of its own, and the one that had the focus goes.
  useEffect(() => {
    if (hasMoved() && document.activeElement === document.body)
      head.current?.focus({ preventScroll: true });
  }, []);
  return (
    <header class="page-head">
      <div>
        <h1 ref={head} tabIndex={-1}>
          {heading ?? title}
        </h1>
        {lead === undefined ? null : <div class="lead">{lead}</div>}
      </div>
      {children === undefined ? null : <div class="page-actions">{children}</div>}
    </header>
  );
}

export function Section({
  title,
  children,
  aside,
}: {
  readonly title: string;
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}): JSX.Element {
  const id = `s-${title.toLowerCase().replaceAll(/[^a-z]+/g, '-')}`;
  return (
    <section class="section" aria-labelledby={id}>
      <div class="section-head">
        <h2 id={id}>{title}</h2>
        {aside}
      </div>
      {children}
    </section>
  );
}
