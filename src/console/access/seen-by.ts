import type { Story } from '../api/model.ts';
import { ProblemError } from '../api/problem.ts';
import type { Asking } from './may-ask.ts';

/**
 * What somebody sees of a route's answer: a customer, of an event, only what became of it at their own
 * destination, and nothing of an event that did not go there.
 * @throws ProblemError 404, as for an event that there is not
 */
export function seenBy(asking: Asking, route: string, answer: unknown): unknown {
  if (route !== '/events' || asking.role !== 'customer') return answer;
  const { messageId, user, source, type, event, destinations, copies } = answer as Story;
  const isOwn = ({ destination }: { readonly destination: string }): boolean =>
    destination === asking.destination;
  const own = destinations.filter((each) => isOwn(each) && each.state !== 'unwanted');
  if (own.length === 0) throw new ProblemError(404, `There is no event ${messageId}.`);
  const seen = { messageId, user, source, type, event, received: [], destinations: own };
  const isShown = asking.bodies && copies !== undefined;
  return isShown ? { ...seen, copies: copies.filter(isOwn) } : seen;
}
