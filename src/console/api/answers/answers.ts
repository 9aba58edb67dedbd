import { z } from 'zod';
import { actionAnswers } from './actions.ts';
import { deploymentAnswers } from './deployment.ts';
import { destinationAnswers } from './destinations.ts';
import { eventAnswers } from './events.ts';
import { models, named, pageOf, type Answer } from './shapes.ts';

const problem = named(
  'Problem',
  z.object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string().describe('One sentence: what was wrong, where, and what is allowed.'),
  }),
);

const { auditEntry, linkRow, madeLink, redrive, runRow, testAnswer } = actionAnswers;
const { audience, configuration, freshness, notice, pipeline, session } = deploymentAnswers;
const { attemptRow, destinationDetail, destinationList, series } = destinationAnswers;
const { deadLetter, deadLetterCount, foundEvent, rejectedCall, rejectedCount, story } =
  eventAnswers;

/** @internal */
export const answers = {
  problem,
  session,
  freshness,
  destinationList,
  destinationDetail,
  series,
  attemptPage: pageOf('AttemptPage', attemptRow),
  deadLetterPage: pageOf('DeadLetterPage', deadLetter),
  deadLetterCounts: pageOf('DeadLetterCounts', deadLetterCount),
  rejectedPage: pageOf('RejectedPage', rejectedCall),
  rejectedCounts: pageOf('RejectedCounts', rejectedCount),
  story,
  eventPage: pageOf('EventPage', foundEvent),
  pipeline,
  audiencePage: pageOf('AudiencePage', audience),
  noticePage: pageOf('NoticePage', notice),
  auditPage: pageOf('AuditPage', auditEntry),
  configuration,
  redrive,
  runPage: pageOf('RunPage', runRow),
  linkPage: pageOf('LinkPage', linkRow),
  madeLink,
  tested: named('Tested', z.object({ items: z.array(testAnswer) })),
  nothing: named('Nothing', z.object({})),
};

/** Every answer that is no success: RFC 9457, `application/problem+json`. */
export type Problem = Answer<(typeof answers)['problem']>;

/** For a route's `response`. */
export function answer(name: keyof typeof answers): Record<string, unknown> {
  return {
    200: { description: 'As described', ...refTo(answers[name]) },
    default: {
      description: 'Why there is no answer',
      content: { 'application/problem+json': { schema: refTo(answers.problem) } },
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
