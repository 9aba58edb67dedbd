import { destinationHealths } from '../event/destination-health.ts';
import {
  accepting,
  paging,
  text,
  time,
  type Accept,
  type Parameters,
} from '../http-api/parameters.ts';

/** The parameters of the API's requests, each with its bounds, and the same in words for errors and OpenAPI. */
export const parameters: Parameters = {
  id: text(1, 200, 'the id of a resource, at most 200 characters'),
  customer: text(1, 128, 'the id of a customer, at most 128 characters'),
  state: {
    type: 'string',
    enum: [...destinationHealths],
    description: `one of ${destinationHealths.join(', ')}`,
  },
  ...paging,
  dryRun: { type: 'boolean', description: 'true or false' },
  user: text(1, 1_024, 'the id of a user, at most 1024 characters'),
  source: text(1, 200, 'the id of a source, at most 200 characters'),
  message: text(1, 1_024, 'a message id, at most 1024 characters'),
  reason: text(1, 100, 'a reason as dead letters have it, or http-4xx, at most 100 characters'),
  since: time,
  until: time,
  again: { type: 'boolean', description: 'true or false' },
  rate: text(3, 20, 'how many per time, such as 100/s or 30/m'),
  lift: { type: 'boolean', description: 'true or false' },
  expires: text(2, 20, 'a duration such as 12h or 7d'),
  manage: { type: 'boolean', description: 'true or false' },
  bodies: { type: 'boolean', description: 'true or false' },
};

/** For a route's `querystring` or `params`. */
export const accept: Accept = accepting(parameters);
