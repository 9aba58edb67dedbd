import type { JSX } from 'preact';
import type { LastAnswer } from '../../../event/destination-status.ts';
import { printable } from '../../../printable.ts';
import { t } from '../texts/texts.ts';
import { Time } from './data.tsx';

/** In words: the status, what the endpoint said, and when. */
export function Answer({ answer }: { readonly answer: LastAnswer }): JSX.Element {
  const { at, outcome, status, detail, answer: body } = answer;
  const said = body === undefined || body === '' ? undefined : inOneLine(body);
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

/** Line breaks and indents of an answer say nothing here. */
export function inOneLine(body: string): string {
  return printable(body.replaceAll(/\s+/g, ' ').trim());
}

const meanings: Readonly<Record<number, string>> = {
  301: 'Moved Permanently',
  302: 'Found',
  307: 'Temporary Redirect',
  308: 'Permanent Redirect',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  410: 'Gone',
  413: 'Content Too Large',
  422: 'Unprocessable Content',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
};

/** `503 Service Unavailable`, or why there was no answer. */
export function inWords(status: number | undefined, detail: string | undefined): string {
  if (status === undefined) return printable(plain(detail ?? t.noAnswer));
  const meaning = meanings[status];
  const word = status >= 200 && status < 300 ? `${status} OK` : `${status} ${meaning ?? ''}`;
  // The rest says by which rule of the destination it was judged, or where the endpoint has moved to.
  const [isAnswer, rest = ''] = /^answered \d+(.*)$/s.exec(detail ?? '') ?? [];
  const says = isAnswer === undefined && detail !== undefined ? `, ${detail}` : rest;
  return `${word.trim()}${printable(says)}`;
}

/** `ECONNREFUSED: connect ECONNREFUSED 192.0.2.1:443` for people who know no codes. */
function plain(detail: string): string {
  const [, code = '', rest = ''] = /^([A-Z_]+)(?:: (?:[a-z]+ [A-Z]+ ?)?(.*))?$/s.exec(detail) ?? [];
  const codes: Readonly<Record<string, string>> = t.codes;
  const words = Object.hasOwn(codes, code) ? codes[code] : undefined;
  const details: Readonly<Record<string, string>> = t.details;
  if (words === undefined) return Object.hasOwn(details, detail) ? (details[detail] ?? '') : detail;
  // The code of a certificate is what its owner looks for.
  const isCertificate = /CERT|LEAF/.test(code);
  return [words, rest, isCertificate ? code : ''].filter((part) => part !== '').join(', ');
}
