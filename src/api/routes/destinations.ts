import type { FastifyInstance } from 'fastify';
import { ProblemError } from '../../http-api/problem.ts';
import type { FollowedResources } from '../../resources/config/config-topic.ts';
import { maskResource, recordKey, toDocument } from '../../resources/config/stored.ts';
import { destinationAnswer, models } from '../answers.ts';
import { accept } from '../parameters.ts';

interface OfDestination {
  readonly id: string;
}

export interface RouteDeps {
  readonly config: FollowedResources;
}

export function addDestinationRoutes(api: FastifyInstance, { config }: RouteDeps): void {
  const params = accept(['id'], ['id']);
  api.get<{ Params: OfDestination }>(
    '/destinations/:id',
    {
      config: { scope: 'read' },
      schema: { summary: 'A destination', params, response: models.answer(destinationAnswer) },
    },
    (request) => {
      const { id } = request.params;
      const stored = config.resources.get(recordKey({ kind: 'Destination', id }));
      if (stored?.sealed === undefined)
        throw new ProblemError(404, `There is no destination ${id}.`);
      return { ...toDocument(maskResource(stored.sealed)), uid: stored.uid };
    },
  );
}
