import { destinationHealths } from '../event/destination-health.ts';
import {
  accepting,
  flag,
  oneOf,
  paging,
  shared,
  text,
  type Accept,
  type Parameters,
} from '../http-api/parameters.ts';

/** The parameters of the API's requests, each with its bounds, and the same in words for errors and OpenAPI. */
export const parameters: Parameters = {
  id: text(1, 200, 'the id of a resource, at most 200 characters'),
  state: oneOf(destinationHealths),
  ...paging,
  ...shared,
  source: text(1, 200, 'the id of a source, at most 200 characters'),
  reason: text(1, 100, 'a reason as dead letters have it, or http-4xx, at most 100 characters'),
  lift: flag,
  manage: flag,
};

/** For a route's `querystring` or `params`. */
export const accept: Accept = accepting(parameters);
