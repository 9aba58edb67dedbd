import type { TestAnswer } from '../../../api/answers/actions.ts';
import type { enManaging } from '../../texts/en-managing.ts';

/** The usual mistakes, by what each of them looks like from here. */
export type Mistake = keyof typeof enManaging.test.mistakes;

const byStatus: Readonly<Record<number, Mistake>> = {
  400: 'body',
  401: 'signature',
  403: 'signature',
  404: 'path',
  405: 'path',
  408: 'timeout',
  410: 'path',
  413: 'body',
  415: 'body',
  422: 'body',
  425: 'busy',
  429: 'busy',
  504: 'timeout',
};

/** In this order, because a failed certificate is a failed connection too. */
const byDetail: readonly (readonly [RegExp, Mistake])[] = [
  [/not a public address|inner address/i, 'inner'],
  [/cert|\btls\b|\bssl\b|LEAF_SIGNATURE|EPROTO|self.signed/i, 'tls'],
  [/in time|timed? ?out|within \d/i, 'timeout'],
  [/^E[A-Z]+\b|connection|\bhost\b|\bname\b|socket/i, 'unreachable'],
];

/** Undefined: the endpoint has taken the event. */
export function mistakeOf({
  outcome,
  status,
  detail = '',
}: Pick<TestAnswer, 'outcome' | 'status' | 'detail'>): Mistake | undefined {
  if (outcome === 'delivered') return undefined;
  if (status !== undefined) {
    if (status >= 300 && status < 400) return 'moved';
    return byStatus[status] ?? (status >= 500 ? 'crashed' : 'body');
  }
  return byDetail.find(([found]) => found.test(detail))?.[1] ?? 'other';
}
