import type { ComponentChildren, JSX } from 'preact';
import type { AttemptRow } from '../../../api/answers/destinations.ts';
import { absolute, milliseconds } from '../../format.ts';
import { inWords } from '../../parts/answer.tsx';
import { Copy, Dialog } from '../../parts/controls.tsx';
import { Data, Id, Lines } from '../../parts/data.tsx';
import { OutcomeBadge } from '../../parts/state.tsx';
import { useSession } from '../../session.ts';
import { filled, t } from '../../texts/texts.ts';

export type AttemptEnded = AttemptRow & { readonly kind: 'attempt' };

/** A name of HTTP, which is in no language. */
const retryAfterHeader = 'Retry-After';

/** One attempt with all that is stored of it. */
export function AttemptDialog({
  attempt,
  newer,
  older,
  onOpen,
  onClose,
}: {
  readonly attempt: AttemptEnded;
  /** Its neighbours on the page. */
  readonly newer: AttemptEnded | undefined;
  readonly older: AttemptEnded | undefined;
  readonly onOpen: (attempt: AttemptEnded) => void;
  readonly onClose: () => void;
}): JSX.Element {
  const { at, outcome, status, detail, cause, tookMs, url, answer, retryAfterMs, rule } = attempt;
  const { role } = useSession();
  const { messageId, user, redrivenAt, isAnswerCut, headers = {}, batch } = attempt;
  const move = (text: string, to: AttemptEnded | undefined): JSX.Element => (
    <button
      type="button"
      disabled={to === undefined}
      onClick={() => {
        if (to !== undefined) onOpen(to);
      }}
    >
      {text}
    </button>
  );
  return (
    <Dialog title={filled(t.attempts.one, { n: attempt.attempt })} onClose={onClose}>
      <p>
        <OutcomeBadge outcome={outcome} /> {inWords(status, detail)}
      </p>
      <dl class="facts">
        <Pair title={t.attempts.ended}>{absolute(at)}</Pair>
        <Pair title={t.attempts.took}>{milliseconds(tookMs)}</Pair>
        <Pair title={t.attempts.url} copy={url}>
          <Id text={url} />
        </Pair>
        <Pair title={t.attempts.event} copy={messageId}>
          <Id text={messageId} />
        </Pair>
        <Pair title={t.attempts.user} copy={user}>
          <Id text={user} />
        </Pair>
        {batch === undefined ? null : (
          <Pair title={t.attempts.batch} copy={batch.id}>
            {filled(t.attempts.placeInBatch, { place: batch.place, events: batch.events })}{' '}
            <Id text={batch.id} />
          </Pair>
        )}
        {redrivenAt === undefined ? null : (
          <Pair title={t.attempts.sentAgain}>{absolute(redrivenAt)}</Pair>
        )}
        {retryAfterMs === undefined ? null : (
          <Pair title={retryAfterHeader}>{milliseconds(retryAfterMs)}</Pair>
        )}
        {status === undefined || outcome === 'delivered' || role === 'customer' ? null : (
          <Pair title={t.attempts.rule}>{rule ?? 'default'}</Pair>
        )}
        {Object.entries(headers).map(([name, value]) => (
          <Pair key={name} title={name} copy={value}>
            <Data text={value} />
          </Pair>
        ))}
        {cause === undefined ? null : (
          <Pair title={t.attempts.cause}>
            <Data text={cause} />
          </Pair>
        )}
      </dl>
      {answer === undefined || answer === '' ? (
        <p class="quiet">{t.attempts.noBody}</p>
      ) : (
        <>
          <p>
            {isAnswerCut === true ? t.attempts.cutBody : t.attempts.wholeBody}{' '}
            <Copy text={answer} what={t.attempts.theAnswer} />
          </p>
          <Lines value={answer} />
        </>
      )}
      <div class="dialog-actions">
        {move(t.attempts.newer, newer)}
        {move(t.attempts.older, older)}
        <button type="button" onClick={onClose}>
          {t.close}
        </button>
      </div>
    </Dialog>
  );
}

function Pair({
  title,
  copy,
  children,
}: {
  readonly title: string;
  readonly copy?: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <div>
      <dt>{title}</dt>
      <dd>
        {children} {copy === undefined ? null : <Copy text={copy} what={title} />}
      </dd>
    </div>
  );
}
