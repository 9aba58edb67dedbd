import type { DestinationDetail, Story } from '../api/model.ts';
import { ProblemError } from '../api/problem.ts';
import type { Asking } from './may-ask.ts';

/**
 * What of a route's answer the person who asks may see. A customer may see neither the destination's
 * configuration, which has URLs with their queries, nor what became of an event elsewhere.
 * @throws ProblemError 404 for an event that did not go to the customer's destination, as for an unknown one
 */
export function seenBy(asking: Asking, route: string, answer: unknown): unknown {
  if (asking.role !== 'customer') return answer;
  switch (route) {
    case '/destinations/:id':
      return withoutResource(answer as DestinationDetail);
    case '/events':
      return ownStory(asking, answer as Story);
    default:
      return answer;
  }
}

function withoutResource(detail: DestinationDetail): DestinationDetail {
  const fields = Object.entries(detail).filter(([name]) => name !== 'resource');
  return Object.fromEntries(fields) as unknown as DestinationDetail;
}

function ownStory(asking: Asking, story: Story): Story {
  const { messageId, user, source, type, event, destinations, copies } = story;
  const isOwn = ({ destination }: { readonly destination: string }): boolean =>
    destination === asking.destination;
  const own = destinations.filter((each) => isOwn(each) && each.state !== 'unwanted');
  if (own.length === 0) throw new ProblemError(404, `There is no event ${messageId}.`);
  const seen = { messageId, user, source, type, event, received: [], destinations: own };
  const isShown = asking.bodies && copies !== undefined;
  return isShown ? { ...seen, copies: copies.filter(isOwn) } : seen;
}
