import type { JSX } from 'preact';
import type { LastAnswer } from '../../../event/destination-status.ts';
import { printable } from '../../../printable.ts';
import { Time } from './data.tsx';

/** In words: the status, what the endpoint said, and when. */
export function Answer({ answer }: { readonly answer: LastAnswer }): JSX.Element {
  const { at, outcome, status, detail, answer: body } = answer;
  const said = body === undefined || body === '' ? undefined : printable(body);
  return (
    <>
      <span class="said">
        <span class={outcome === 'delivered' ? '' : 'strong'}>{inWords(status, detail)}</span>
        {said === undefined ? null : (
          <>
            {' '}
            <q>
              <bdi>{said}</bdi>
            </q>
          </>
        )}
      </span>
      <span class="under">
        <Time at={at} />
      </span>
    </>
  );
}

const meanings: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  408: 'Request Timeout',
  410: 'Gone',
  413: 'Content Too Large',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
};

/** `503 Service Unavailable`, or why there was no answer. */
export function inWords(status: number | undefined, detail: string | undefined): string {
  if (status === undefined) return printable(detail ?? 'no answer');
  const meaning = meanings[status];
  const word = status >= 200 && status < 300 ? `${status} OK` : `${status} ${meaning ?? ''}`;
  const says =
    detail === undefined || detail === `answered ${status}` ? '' : `, ${printable(detail)}`;
  return `${word.trim()}${says}`;
}
