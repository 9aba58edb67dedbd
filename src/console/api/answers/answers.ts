import { z } from 'zod';
import type { Problem } from '../model.ts';
import {
  audience,
  auditEntry,
  configuration,
  freshness,
  linkRow,
  madeLink,
  notice,
  pipeline,
  redrive,
  runRow,
  session,
} from './deployment.ts';
import {
  attemptRow,
  destinationDetail,
  destinationList,
  series,
  testAnswer,
} from './destinations.ts';
import {
  deadLetter,
  deadLetterCount,
  foundEvent,
  rejectedCall,
  rejectedCount,
  story,
} from './events.ts';
import { models, named, pageOf } from './shapes.ts';

/**
 * The answers of `model.ts` as JSON Schemas, for OpenAPI alone: nothing is checked or serialized by them. The
 * compiler holds each to its type, and a test holds what the API answers to each.
 */

const problem = named<Problem>(
  'Problem',
  z.object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string().describe('One sentence: what was wrong, where, and what is allowed.'),
  }),
);

type AnswerName =
  | 'session'
  | 'freshness'
  | 'destinationList'
  | 'destinationDetail'
  | 'series'
  | 'attemptPage'
  | 'deadLetterPage'
  | 'deadLetterCounts'
  | 'rejectedPage'
  | 'rejectedCounts'
  | 'story'
  | 'eventPage'
  | 'pipeline'
  | 'audiencePage'
  | 'noticePage'
  | 'auditPage'
  | 'configuration'
  | 'redrive'
  | 'runPage'
  | 'linkPage'
  | 'madeLink'
  | 'tested'
  | 'nothing';

const answers: Readonly<Record<AnswerName, z.ZodType>> = {
  session: session,
  freshness: freshness,
  destinationList: destinationList,
  destinationDetail: destinationDetail,
  series: series,
  attemptPage: pageOf('AttemptPage', attemptRow),
  deadLetterPage: pageOf('DeadLetterPage', deadLetter),
  deadLetterCounts: pageOf('DeadLetterCounts', deadLetterCount),
  rejectedPage: pageOf('RejectedPage', rejectedCall),
  rejectedCounts: pageOf('RejectedCounts', rejectedCount),
  story: story,
  eventPage: pageOf('EventPage', foundEvent),
  pipeline: pipeline,
  audiencePage: pageOf('AudiencePage', audience),
  noticePage: pageOf('NoticePage', notice),
  auditPage: pageOf('AuditPage', auditEntry),
  configuration: configuration,
  redrive: redrive,
  runPage: pageOf('RunPage', runRow),
  linkPage: pageOf('LinkPage', linkRow),
  madeLink: madeLink,
  tested: named('Tested', z.object({ items: z.array(testAnswer) })),
  nothing: named('Nothing', z.object({})),
};

/** For a route's `response`. */
export function answer(name: AnswerName): Record<string, unknown> {
  return {
    200: { description: 'As described', ...refTo(answers[name]) },
    default: {
      description: 'Why there is no answer',
      content: { 'application/problem+json': { schema: refTo(problem) } },
    },
  };
}

function refTo(schema: z.ZodType): { readonly $ref: string } {
  return { $ref: uriOf(models.get(schema)?.id ?? '') };
}

function uriOf(id: string): string {
  return `${id}#`;
}

/** By id: what routes refer to. Fields may be added to an answer in any release. */
export function answerSchemas(): readonly Record<string, unknown>[] {
  const { schemas } = z.toJSONSchema(models, {
    uri: uriOf,
    override: ({ jsonSchema }) => {
      delete jsonSchema.additionalProperties;
    },
  });
  // The document says which dialect its schemas are of.
  return Object.entries(schemas).map(([id, schema]) => ({
    ...schema,
    $id: id,
    $schema: undefined,
  }));
}
