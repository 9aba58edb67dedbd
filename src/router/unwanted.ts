import { compileFilter, firstUnmet, tellUnmet, type Unmet } from '../event/filter.ts';
import { quote } from '../event/read-json.ts';
import type { Destination } from '../resources/resource.ts';
import type { ReadCall } from './read-call.ts';

/** The rule by which a destination does not get a call. */
export type Unwanted = 'integrations' | 'audience' | 'events' | 'event-names' | 'filter';

/** The destination's own rules. */
export type Rules = Pick<Destination, 'events' | 'eventNames' | 'filter'>;

const shownNames = 5;

/** A sentence that says what the rule wants, and what the call is. */
export function tellUnwanted(unwanted: Unwanted, { call }: ReadCall, rules: Rules): string {
  const { events = [], eventNames = [] } = rules;
  switch (unwanted) {
    case 'integrations':
      return "the call's integrations exclude webhooks";
    case 'audience':
      return 'the audience sync sent it to other destinations only';
    case 'events':
      return `its events are ${events.join(', ')}; this is ${call.type}`;
    case 'event-names': {
      const names = eventNames.slice(0, shownNames).map(quote).join(', ');
      const more = eventNames.length - shownNames;
      const name = String(call.fields['event']);
      return `its eventNames are ${names}${more > 0 ? ` and ${more} more` : ''}; this is ${quote(name)}`;
    }
    case 'filter': {
      const unmet = unmetBy(call, rules);
      return unmet === undefined ? '' : tellUnmet(unmet);
    }
  }
}

/** The condition of the destination's filter that the call does not meet. */
export function unmetBy(call: ReadCall['call'], { filter }: Rules): Unmet | undefined {
  return filter === undefined ? undefined : firstUnmet(compileFilter(filter), call);
}
