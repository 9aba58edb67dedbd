import {
  accepting,
  flag,
  oneOf,
  paging,
  shared,
  text,
  type Accept,
  type Parameters,
} from '../../http-api/parameters.ts';
import { destinationHealths } from '../../event/destination-health.ts';
import { resourceKinds } from '../../resources/resource.ts';
import { orders, outcomes, ranges } from './choices.ts';

/** The parameters of requests, each with its bounds, and the same in words for errors and OpenAPI. */
export const parameters: Parameters = {
  id: text(1, 200, 'the id of a destination, at most 200 characters'),
  search: text(0, 200, 'a part of an id, a name or a customer, at most 200 characters'),
  state: oneOf(destinationHealths),
  sort: { ...oneOf(orders), default: 'urgency' },
  outcome: oneOf(outcomes),
  ...paging,
  ...shared,
  range: { ...oneOf(ranges), default: '1h' },
  failed: flag,
  url: text(1, 2_048, 'a URL as attempts have it, at most 2048 characters'),
  after: {
    type: 'string',
    pattern: '^[0-9]{1,16}$',
    description: 'the `seq` of an attempt, a whole number of at most 16 digits',
  },
  destination: text(1, 200, 'the id of a destination, at most 200 characters'),
  kind: oneOf(resourceKinds),
  source: text(0, 200, 'the id of a source, at most 200 characters; empty: none is known'),
  reason: text(1, 100, 'a reason as the summary has it, or http-4xx, at most 100 characters'),
  places: {
    type: 'array',
    items: { type: 'string', pattern: '^[0-9]{1,9}:[0-9]{1,15}$' },
    minItems: 1,
    maxItems: 500,
    description: '1 to 500 places as `place` has them, such as "3:17"',
  },
  all: flag,
};

/** For a route's `querystring` or `params`. */
export const accept: Accept = accepting(parameters);
