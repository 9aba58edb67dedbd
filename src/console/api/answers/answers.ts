import { z } from 'zod';
import { actionAnswers } from './actions.ts';
import { deploymentAnswers } from './deployment.ts';
import { destinationAnswers } from './destinations.ts';
import { eventAnswers } from './events.ts';
import { models, named, pageOf } from './shapes.ts';

const { auditEntry, linkRow, madeLink, redrive, runRow, testAnswer } = actionAnswers;
const { audience, configuration, freshness, notice, pipeline, session } = deploymentAnswers;
const { attemptRow, destinationDetail, destinationList, series } = destinationAnswers;
const { deadLetter, deadLetterCount, eventName, foundEvent, rejectedCall, rejectedCount, story } =
  eventAnswers;

/** @internal */
export const answers = {
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
  eventNames: pageOf('EventNames', eventName),
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

/** For a route's `response`. */
export function answer(name: keyof typeof answers): Record<string, unknown> {
  return models.answer(answers[name]);
}
