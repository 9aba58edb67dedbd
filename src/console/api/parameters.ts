import {
  accepting,
  paging,
  text,
  time,
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
  state: {
    type: 'string',
    enum: [...destinationHealths],
    description: `one of ${destinationHealths.join(', ')}`,
  },
  sort: {
    type: 'string',
    enum: [...orders],
    default: 'urgency',
    description: `one of ${orders.join(', ')}`,
  },
  outcome: {
    type: 'string',
    enum: [...outcomes],
    description: `one of ${outcomes.join(', ')}`,
  },
  ...paging,
  range: {
    type: 'string',
    enum: [...ranges],
    default: '1h',
    description: `one of ${ranges.join(', ')}`,
  },
  failed: { type: 'boolean', description: 'true or false' },
  url: text(1, 2_048, 'a URL as attempts have it, at most 2048 characters'),
  message: text(1, 1_024, 'a message id, at most 1024 characters'),
  user: text(1, 1_024, 'the id of a user, at most 1024 characters'),
  after: {
    type: 'string',
    pattern: '^[0-9]{1,16}$',
    description: 'the `seq` of an attempt, a whole number of at most 16 digits',
  },
  customer: text(1, 128, 'the id of a customer, at most 128 characters'),
  destination: text(1, 200, 'the id of a destination, at most 200 characters'),
  kind: {
    type: 'string',
    enum: [...resourceKinds],
    description: `one of ${resourceKinds.join(', ')}`,
  },
  source: text(0, 200, 'the id of a source, at most 200 characters; empty: none is known'),
  reason: text(1, 100, 'a reason as the summary has it, or http-4xx, at most 100 characters'),
  since: time,
  until: time,
  expires: text(2, 20, 'a duration such as 12h or 7d'),
  bodies: { type: 'boolean', description: 'true or false' },
  places: {
    type: 'array',
    items: { type: 'string', pattern: '^[0-9]{1,9}:[0-9]{1,15}$' },
    minItems: 1,
    maxItems: 500,
    description: '1 to 500 places as `place` has them, such as "3:17"',
  },
  again: { type: 'boolean', description: 'true or false' },
  rate: text(3, 20, 'how many per time, such as 100/s or 30/m'),
  all: { type: 'boolean', description: 'true or false' },
  dryRun: { type: 'boolean', description: 'true or false' },
};

/** For a route's `querystring` or `params`. */
export const accept: Accept = accepting(parameters);
