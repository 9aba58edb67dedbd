import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { parseDuration } from '../../../../duration.ts';
import type { DestinationDetail } from '../../../api/answers/destinations.ts';
import { post } from '../../api.ts';
import { duration, fullTime } from '../../format.ts';
import { go, urlOf } from '../../navigation.ts';
import { Dialog } from '../../parts/controls.tsx';
import { Data } from '../../parts/data.tsx';
import { ProblemNote } from '../../parts/notes.tsx';
import { usePolled } from '../../polled.ts';
import { useSession } from '../../session.ts';
import { filled, t } from '../../texts/texts.ts';
import { AgainDialog } from './again-dialog.tsx';
import { AskDialog } from './ask-dialog.tsx';
import { ChangeDialog } from './change-dialog.tsx';
import { LiveTest } from './live-test.tsx';
import type { Managed } from './entries.ts';
import { makeSecret, managedPath, remove } from './managed.ts';
import { SecretShown } from './secret-shown.tsx';

/** The actions that the API alone can do. */
type Changing = 'change' | 'secret' | 'remove';
type Operating = 'test' | 'pause' | 'resume' | 'again';
type Action = Changing | Operating;

const managedMs = 15_000;
/** `secretOverlap` of a destination without the field. */
const usualOverlap = '24h';

/** For customers who manage their endpoints: everything that can be done with one. */
export function EndpointActions({
  destination,
  onDone,
}: {
  readonly destination: DestinationDetail;
  readonly onDone: () => void;
}): JSX.Element {
  const { pause, state } = destination;
  const isPaused = pause !== undefined || state === 'paused';
  return (
    <Buttons
      destination={destination}
      operating={['test', isPaused ? 'resume' : 'pause', 'again']}
      fromFiles={t.manage.fromFiles}
      onDone={onDone}
    />
  );
}

/** For operators, who operate by the console itself. */
export function ChangeActions({
  destination,
  onDone,
}: {
  readonly destination: DestinationDetail;
  readonly onDone: () => void;
}): JSX.Element {
  return (
    <Buttons
      destination={destination}
      operating={[]}
      fromFiles={t.manage.fromFilesStaff}
      onDone={onDone}
    />
  );
}

function Buttons({
  destination,
  operating,
  fromFiles,
  onDone,
}: {
  readonly destination: DestinationDetail;
  readonly operating: readonly Operating[];
  readonly fromFiles: string;
  readonly onDone: () => void;
}): JSX.Element {
  const [action, setAction] = useState<Action>();
  const managed = usePolled<Managed>(managedPath(destination.id), managedMs);
  const isManaged = managed.answer?.managedBy === 'api';
  const shown: readonly Action[] = [
    ...operating,
    ...(isManaged ? (['change', 'secret', 'remove'] as const) : []),
  ];
  const close = (): void => {
    setAction(undefined);
    managed.reload();
    onDone();
  };
  return (
    <>
      {shown.map((each) => (
        <button
          key={each}
          type="button"
          onClick={() => {
            setAction(each);
          }}
        >
          {t.manage[each]}
        </button>
      ))}
      {managed.answer?.managedBy === 'files' ? <p class="quiet managed-by">{fromFiles}</p> : null}
      {managed.answer === undefined && managed.problem !== undefined ? (
        <ProblemNote problem={managed.problem} />
      ) : null}
      {action === undefined ? null : (
        <ActionDialog
          action={action}
          destination={destination}
          managed={managed.answer}
          onClose={close}
        />
      )}
    </>
  );
}

function ActionDialog({
  action,
  destination: { id, name },
  managed,
  onClose,
}: {
  readonly action: Action;
  readonly destination: DestinationDetail;
  readonly managed: Managed | undefined;
  readonly onClose: () => void;
}): JSX.Element {
  const { csrf } = useSession();
  const words = t.manage;
  const question = (text: string): JSX.Element => (
    <>
      <p>
        <strong>
          <Data text={name} />
        </strong>
      </p>
      <p>{text}</p>
    </>
  );
  const operate = (what: 'pause' | 'resume') => (): Promise<object> =>
    post<object>(`${managedPath(id)}/${what}`, csrf);
  switch (action) {
    case 'test':
      return (
        <Dialog title={t.test.title} onClose={onClose}>
          <LiveTest id={id} />
          <div class="dialog-actions">
            <button type="button" onClick={onClose}>
              {t.close}
            </button>
          </div>
        </Dialog>
      );
    case 'pause':
      return (
        <AskDialog
          title={words.pauseTitle}
          question={question(words.pauseText)}
          confirm={words.pauseDo}
          act={operate('pause')}
          done={() => <p>{words.paused}</p>}
          onClose={onClose}
        />
      );
    case 'resume':
      return (
        <AskDialog
          title={words.resumeTitle}
          question={question(words.resumeText)}
          confirm={words.resumeDo}
          act={operate('resume')}
          done={() => <p>{words.resumed}</p>}
          onClose={onClose}
        />
      );
    case 'again':
      return <AgainDialog whose={{ endpoint: id }} onClose={onClose} />;
    case 'change':
      return <ChangeDialog id={id} onClose={onClose} />;
    case 'secret':
      return (
        <AskDialog
          title={words.secretTitle}
          question={question(overlapText(managed))}
          confirm={words.secretDo}
          act={() => makeSecret(id, csrf)}
          done={({ sharedSecret, formerUntil }) => (
            <>
              <p>{words.secretMade}</p>
              <SecretShown secret={sharedSecret} />
              {formerUntil === undefined ? null : (
                <p>{filled(words.formerUntil, { time: fullTime(formerUntil) })}</p>
              )}
            </>
          )}
          onClose={onClose}
        />
      );
    case 'remove':
      return (
        <AskDialog
          title={words.removeTitle}
          question={question(words.removeText)}
          confirm={words.removeDo}
          isDangerous
          act={async () => {
            await remove(id, csrf);
            go(urlOf.home);
          }}
          done={() => null}
          onClose={onClose}
        />
      );
  }
}

/** X-Signature has room for one signature. */
function overlapText(managed: Managed | undefined): string {
  const { signature = 'segment', secretOverlap = usualOverlap } = managed ?? {};
  const time = duration(parseDuration(secretOverlap) ?? 0);
  return signature === 'segment' ? t.manage.secretAtOnce : filled(t.manage.secretText, { time });
}
