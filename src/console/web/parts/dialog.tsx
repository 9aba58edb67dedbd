import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';

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
