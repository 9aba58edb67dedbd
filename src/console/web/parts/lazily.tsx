import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Problem } from '../api.ts';
import { t } from '../texts/texts.ts';
import { ProblemNote } from './notes.tsx';

interface Loading<Loaded> {
  /** Undefined: not yet. */
  readonly loaded: Loaded | undefined;
  readonly problem: Problem | undefined;
}

/** @param load the same function each time, which imports a part of these pages */
export function useLoaded<Loaded>(load: () => Promise<Loaded>): Loading<Loaded> {
  const [got, setGot] = useState<Loading<Loaded> & { readonly by: typeof load }>();
  useEffect(() => {
    let isWanted = true;
    const set = (what: Loading<Loaded>): void => {
      // What was wanted before may come after what is wanted now.
      if (isWanted) setGot({ ...what, by: load });
    };
    load().then(
      (loaded) => {
        set({ loaded, problem: undefined });
      },
      // Another version of the console has come since these pages were loaded.
      () => {
        const problem = new Problem(0, t.problems.newerPages, t.problems.reload);
        set({ loaded: undefined, problem });
      },
    );
    return () => {
      isWanted = false;
    };
  }, [load]);
  return got?.by === load ? got : { loaded: undefined, problem: undefined };
}

/** A part that few people open, once it is there. */
export function Lazily<Loaded>({
  load,
  children,
}: {
  readonly load: () => Promise<Loaded>;
  readonly children: (loaded: Loaded) => ComponentChildren;
}): JSX.Element {
  const { loaded, problem } = useLoaded(load);
  return (
    <>
      {problem === undefined ? null : <ProblemNote problem={problem} />}
      {loaded === undefined ? null : children(loaded)}
    </>
  );
}
