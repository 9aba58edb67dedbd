import { openSender } from '../../../src/delivery/http/http-sender.ts';
import type { KeptAnswer } from '../../../src/delivery/kept-answer.ts';
import { requestFailures, type Outcome } from '../../../src/delivery/outcome.ts';
import { keptAnswerBytes } from '../../../src/event/limits.ts';
import type { Sender } from '../../../src/delivery/sender.ts';
import { PreparedDestination } from '../../../src/delivery/prepared-destination.ts';
import { systemClock, type SteadyClock } from '../../../src/ops/clock.ts';
import { exampleDestination } from '../../resources/examples.ts';

/** The real sender, for endpoints on this machine. */
export function openLocalSender(timeoutMs: number, clock: SteadyClock = systemClock): Sender {
  return openSender({ clock, timeoutMs, allowNetworks: ['127.0.0.0/8'] });
}

export interface Attempt {
  readonly outcome: Outcome;
  readonly tookMs: number;
}

/** One attempt at the URL. */
export function attemptAt(sender: Sender, url: string): Promise<Attempt> {
  const prepared = new PreparedDestination(
    exampleDestination({ webhooks: [{ url, headers: {} }] }),
  );
  const [endpoint] = prepared.endpoints;
  if (endpoint === undefined) throw new Error('a destination has an endpoint');
  const body = Buffer.from('{"type":"track"}');
  return new Promise((resolve) => {
    const settled = (outcome: Outcome, _index: number, tookMs: number): void => {
      resolve({ outcome, tookMs });
    };
    const messageId = 'm';
    const headers = prepared.headersOf(messageId, body, Date.now());
    const authorization = (): undefined => undefined;
    const mayFollow = (): boolean => true;
    const batchSize = 0;
    const sending = { body, headers, messageId, batchSize, authorization, mayFollow, settled };
    sender.send(sending, endpoint, 0, new URL(url).pathname);
  });
}

/** Why this cannot be the outcome of an answer; undefined if the table has it. */
export function oddityOf(outcome: Outcome): string | undefined {
  switch (outcome.kind) {
    case 'delivered': {
      const { status = 0 } = outcome;
      return status >= 200 && status < 300 ? undefined : `delivered with status ${status}`;
    }
    case 'retryable': {
      const { cause, retryAfterMs = 0, answer } = outcome;
      if (!requestFailures.some((each) => each === cause)) return `cause ${cause}`;
      if (cause === 'local' || cause === 'dns') return `cause ${cause}`;
      if (!(retryAfterMs >= 0 && retryAfterMs <= Number.MAX_SAFE_INTEGER))
        return `a wait of ${retryAfterMs} ms`;
      return oddAnswer(answer);
    }
    case 'permanent': {
      const isKnown = /^(?:http-[34]\d\d|not-http)$/.test(outcome.reason);
      return isKnown ? oddAnswer(outcome.answer) : `reason ${outcome.reason}`;
    }
  }
}

function oddAnswer(
  { body, headers }: KeptAnswer = { isCut: false, headers: {} },
): string | undefined {
  const bytes = body?.length ?? 0;
  if (bytes > keptAnswerBytes.usual) return `${bytes} bytes of answer`;
  const header = Object.entries(headers).find(([, value]) => value.length > 200);
  return header === undefined
    ? undefined
    : `a header ${header[0]} of ${header[1].length} characters`;
}
