import type { JSX } from 'preact';
import type { Freshness } from '../../api/answers/deployment.ts';
import { usePolled } from '../polled.ts';
import { Clock } from './data.tsx';
import { Glyph } from './glyph.tsx';

const checkMs = 2_000;

/** Above each screen: why what it shows may not be true, and what to do. */
export function Concerns(): JSX.Element {
  const { answer } = usePolled<Freshness>('/freshness', checkMs);
  return (
    <div role="status">
      {(answer?.concerns ?? []).map(({ kind, since, text, advice }) => (
        <div class="note note-bad" key={kind}>
          <Glyph shape="cross" />
          <p>
            <strong>{text}</strong>
            {since === undefined ? null : (
              <>
                {' '}
                This is since <Clock at={since} />.
              </>
            )}{' '}
            {advice}
          </p>
        </div>
      ))}
    </div>
  );
}
