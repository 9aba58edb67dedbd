import { counted, printable } from '../../printable.ts';
import type { BatchRules } from '../../resources/resource.ts';
import type { CallPreview, DestinationPreview } from './preview.ts';

/** The most destinations of a call that are named although they do not get it; `wide` names all. */
const shownUnwanted = 20;

/** For people: each call with its requests, and why other destinations do not get it. */
export function presentPreview(calls: readonly CallPreview[], isWide: boolean): string {
  const most = isWide ? Infinity : shownUnwanted;
  return [...calls.map((call) => callText(call, most)), totalsOf(calls)].join('\n\n');
}

function callText(call: CallPreview, most: number): string {
  const { place, problem, destinations } = call;
  if (problem !== null) return `${printable(place)}: ${printable(problem)}`;
  const wanting = destinations.filter(({ sent }) => sent);
  const others = destinations.filter(({ sent }) => !sent);
  const hidden = others.length - most;
  return [
    `${printable(place)}: ${whatItIs(call)}, to ${wanting.length} of ${counted(destinations.length, 'destination')}`,
    ...wanting.map(sentText),
    ...others
      .slice(0, most)
      .map(({ destination, detail }) => `  ${destination}: not sent; ${printable(detail ?? '')}`),
    ...(hidden > 0
      ? [`  and ${hidden.toLocaleString('en')} more not sent; -o wide shows all`]
      : []),
  ].join('\n');
}

function whatItIs({ type, event, messageId, user, source }: CallPreview): string {
  const name = event === null ? (type ?? '') : `${type ?? ''} ${JSON.stringify(event)}`;
  return printable(`${name} ${messageId ?? ''} of user ${user ?? ''} and source ${source ?? ''}`);
}

function sentText({ destination, requests, body, batch }: DestinationPreview): string {
  const shown = requests.map(({ method, url, headers, problem }) =>
    [
      `    ${method} ${printable(url)}`,
      ...(problem === undefined ? [] : [`    not sent: ${printable(problem)}`]),
      ...Object.entries(headers).map(([name, value]) => `    ${name}: ${printable(value)}`),
    ].join('\n'),
  );
  const element = printable(JSON.stringify(body));
  const [how, shownBody] =
    batch === null ? ['sent', element] : [`sent in a batch: ${arrayOf(batch)}`, `[…,${element},…]`];
  return [`  ${destination}: ${how}`, ...shown, `    ${shownBody}`].join('\n');
}

function arrayOf({ events, wait, bytes }: BatchRules): string {
  return `an array of up to ${counted(events, 'event')} or ${bytes}, sent after ${wait} at the latest`;
}

/** For example `3 calls: 4 events for 2 destinations; 1 call for none`. */
function totalsOf(calls: readonly CallPreview[]): string {
  const wanting = calls.map(({ destinations }) => destinations.filter(({ sent }) => sent));
  const events = wanting.flat();
  const distinct = new Set(events.map(({ destination }) => destination)).size;
  const forNone = wanting.filter(({ length }) => length === 0).length;
  const rest = forNone === 0 ? '' : `; ${counted(forNone, 'call')} for none`;
  return `${counted(calls.length, 'call')}: ${counted(events.length, 'event')} for ${counted(distinct, 'destination')}${rest}`;
}
