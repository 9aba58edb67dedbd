import type { AttemptEnded, AttemptLine, PutOffLine } from '../event/attempt-line.ts';

const shownAnswer = 200;

/** A line in words. Parts of it were written by others, so escape it before printing. */
export function describeLine(line: AttemptLine): string {
  switch (line.kind) {
    case 'attempt':
      return describeAttempt(line);
    case 'retry':
      return `waits until ${line.until ?? '?'}${inLine(line)}${givenUp(line.deadline)}`;
    case 'deferred': {
      if (line.cause === 'order') return 'waits for an earlier event of its user, which has failed';
      const until = line.until === undefined ? 'in its own topic' : `until ${line.until}`;
      return `put off (${line.cause ?? '?'}) ${until}${givenUp(line.deadline)}`;
    }
    case 'bundle-deferred':
      return `${line.events} events put off (${line.cause}) until ${line.until}`;
    case 'dead-letter': {
      const detail = line.detail === '' ? '' : `: ${line.detail}`;
      return `dead letter after ${counted(line.attempts)}: ${line.reason}${detail}`;
    }
    case 'kept':
      return 'kept: its destination is paused';
    case 'dropped':
      return 'dropped: its user was deleted';
  }
}

function describeAttempt(line: AttemptEnded): string {
  const { attempt, outcome, status, detail = '', tookMs, answer, retryAfterMs } = line;
  const head = `attempt ${attempt}${batchText(line)}`;
  if (outcome === 'delivered') {
    const odd = detail === '' ? '' : `, although its answer was odd: ${detail}`;
    return `${head} delivered${status === undefined ? '' : `, ${status}`} in ${tookMs} ms${odd}`;
  }
  const patience = retryAfterMs === undefined ? '' : `, Retry-After ${retryAfterMs / 1_000} s`;
  const said = answer === undefined ? '' : ` "${answer.slice(0, shownAnswer).trim()}"`;
  return `${head} ${outcome}: ${detail}${said} in ${tookMs} ms${patience}`;
}

/** Its place among the events of its request, if that could carry several. */
export function batchText({ batch }: Pick<AttemptEnded, 'batch'>): string {
  return batch === undefined ? '' : ` (${batch.place} of ${batch.events} in batch ${batch.id})`;
}

function inLine({ line }: PutOffLine): string {
  if (line === undefined) return '';
  return line === 'stays'
    ? ', and later events of its user behind it'
    : '; later events of its user go on without it';
}

function givenUp(deadline: string | undefined): string {
  return deadline === undefined ? '' : `, given up at ${deadline}`;
}

function counted(attempts: number): string {
  return attempts === 1 ? '1 attempt' : `${attempts} attempts`;
}
