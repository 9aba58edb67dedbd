import type { Caller, Progress, Sent } from '../../dead-letter/service.ts';
import type { Pause } from '../../resources/pauses/pause.ts';
import { counted } from '../../printable.ts';
import type { Context } from '../context.ts';
import { isForPrograms, type OutputOptions } from '../terminal/output.ts';
import type { StatusLine } from '../terminal/terminal.ts';

/** The form in which a command shows what a service tells. */
interface Shown {
  /** The noun for one letter in sentences. */
  readonly noun: string;
  /** For people; undefined: stdout has the answer for programs only. */
  readonly print?: (line: string) => void;
  /** Called for each letter that is sent, or would be. */
  readonly onSent?: () => void;
  /** True if the letters are sent and not only read. */
  readonly isSending?: boolean;
  /** Printed beside the answer, before the first letter is read. */
  readonly before?: string | undefined;
}

/**
 * Shows on the terminal what a service tells while it works: how far it is in a line of status, the rest in lines of
 * their own. The service ends early when the command is to end.
 */
export async function followed<T>(
  context: Context,
  shown: Shown,
  use: (caller: Caller) => Promise<T>,
): Promise<T> {
  let status: StatusLine | undefined;
  const counts = { read: 0, records: 0, sent: 0 };
  const stopStatus = (): void => {
    status?.stop();
    status = undefined;
  };
  const startStatus = (): void => {
    stopStatus();
    counts.read = 0;
    status = context.status(() => {
      const { read, records, sent } = counts;
      const text = `${read.toLocaleString('en')} of ${records.toLocaleString('en')} records read`;
      return shown.isSending === true ? `${sent} sent again; ${text}` : text;
    });
  };
  const onProgress = (progress: Progress): void => {
    switch (progress.kind) {
      case 'found': {
        const { records, partitions } = progress;
        counts.records = records;
        if (partitions !== undefined)
          context.note(`reading all ${partitions} partitions (${counted(records, 'record')})`);
        if (shown.before !== undefined) context.note(shown.before);
        startStatus();
        return;
      }
      case 'read':
        counts.read += 1;
        return;
      case 'sent':
        counts.sent += 1;
        shown.onSent?.();
        return;
      case 'all-sent':
        stopStatus();
        report(context, shown, progress.sent);
        return;
      case 'resumed':
        shown.print?.(resumedText(progress.destination, progress.before));
        return;
      case 'refused':
      case 'unmarked':
      case 'gives-way':
      case 'queues':
      case 'outcome-unknown':
        context.note(noteOf(progress));
    }
  };
  try {
    return await use({ signal: context.stopping(), onProgress });
  } finally {
    stopStatus();
  }
}

/** For `Shown`: nothing is printed beside an answer for programs. */
export function printing(
  context: Context,
  options: OutputOptions,
): { readonly print?: (line: string) => void } {
  if (isForPrograms(options)) return {};
  return {
    print: (line) => {
      context.print(line);
    },
  };
}

function report(context: Context, { noun, print }: Shown, { id, counts, leftOut }: Sent): void {
  print?.(counts.present(noun));
  for (const each of leftOut.sentences()) context.note(each);
  if (counts.total === 0 && leftOut.isEmpty) context.note(`no ${noun} matches`);
  if (id !== undefined) print?.(`${counted(counts.total, noun)} sent again, in redrive ${id}`);
}

type Noted = Exclude<
  Progress,
  { readonly kind: 'found' | 'read' | 'sent' | 'all-sent' | 'resumed' }
>;

function noteOf(progress: Noted): string {
  switch (progress.kind) {
    case 'refused':
      return `${progress.place} cannot be sent again: ${progress.error.message}`;
    case 'unmarked':
      return `${progress.place} was sent, but cannot be marked as sent: ${progress.error.message}`;
    case 'gives-way':
      return progress.isWaiting
        ? 'waiting until delivery has caught up with new events'
        : 'continuing';
    case 'queues':
      return 'waiting until another `resume` of one of these destinations has ended';
    case 'outcome-unknown':
      return `the outcome of some events is not known: ${progress.error.message}`;
  }
}

function resumedText(id: string, before: Pause | undefined): string {
  return before === undefined
    ? `destination ${id} was not paused; sending what is still kept for it`
    : `destination ${id} is resumed, after a pause since ${sinceText(before)}`;
}

export function sinceText({ since, failingSince, isGone }: Pause): string {
  if (isGone === true)
    return `${since}, by its endpoint: it answered 410, which means no more events`;
  return failingSince === undefined
    ? since
    : `${since}, by disableAfter: it had failed since ${failingSince}`;
}
