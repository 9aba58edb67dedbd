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
  if (status === undefined) return printable(plain(detail ?? 'no answer'));
  const meaning = meanings[status];
  const word = status >= 200 && status < 300 ? `${status} OK` : `${status} ${meaning ?? ''}`;
  const says =
    detail === undefined || detail === `answered ${status}` ? '' : `, ${printable(detail)}`;
  return `${word.trim()}${says}`;
}

const codes: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection closed by the endpoint',
  EHOSTUNREACH: 'host not reachable',
  ENETUNREACH: 'network not reachable',
  ENOTFOUND: 'host name not found',
  ETIMEDOUT: 'connection timed out',
};

/** `ECONNREFUSED: connect ECONNREFUSED 192.0.2.1:443` for people who know no codes. */
function plain(detail: string): string {
  const [, code = '', rest = ''] = /^([A-Z]+): (?:[a-z]+ [A-Z]+ ?)?(.*)$/s.exec(detail) ?? [];
  const words = Object.hasOwn(codes, code) ? codes[code] : undefined;
  return words === undefined ? detail : [words, rest].filter((part) => part !== '').join(', ');
}
