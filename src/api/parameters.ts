import { destinationHealths } from '../event/destination-health.ts';
import { accepting, paging, text, type Accept, type Parameters } from '../http-api/parameters.ts';

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
};

/** For a route's `querystring` or `params`. */
export const accept: Accept = accepting(parameters);
