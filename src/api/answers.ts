import { z } from 'zod';
import { Models, type Answer } from '../http-api/answers.ts';

/** The answers of the API under `/v1`. */
export const models: Models = new Models();
const { named } = models;

/** @internal */
export const destinationAnswer = named(
  'Destination',
  z.looseObject({
    id: z.string(),
    uid: z.exactOptional(
      z.string().describe('Which destination of the id it is: never used again.'),
    ),
  }),
);
export type DestinationAnswer = Answer<typeof destinationAnswer>;
