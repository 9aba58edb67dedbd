import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { STATUS_CODES } from 'node:http';
import { PostriderError, type ErrorCode } from '../../errors.ts';
import { parameters } from './parameters.ts';
import type { Problem } from './answers/answers.ts';

/** An answer that is no success. Its detail is one sentence for a person. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly status: number;

  constructor(status: number, detail: string) {
    super(detail);
    this.status = status;
  }
}

const statuses: Partial<Record<ErrorCode, number>> = {
  'not-found': 404,
  usage: 400,
  'input-invalid': 400,
  busy: 503,
  'kafka-unavailable': 503,
  'kafka-refused': 503,
  'resource-invalid': 409,
  'secret-unreadable': 409,
};

/** Never what an error that nobody expected says: it may quote what this person may not see. */
export function problemOf(error: unknown, query: unknown): Problem {
  if (error instanceof ProblemError) return problem(error.status, error.message);
  if (error instanceof PostriderError) {
    const status = statuses[error.code];
    if (status !== undefined) return problem(status, error.message);
  }
  const { validation, statusCode } = error as Partial<FastifyError>;
  if (validation !== undefined) return problem(400, invalidParameter(validation[0], query));
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500)
    return problem(statusCode, `${(error as Error).message}.`);
  return problem(500, 'The console has failed on this request; its log says why.');
}

export function problem(status: number, detail: string): Problem {
  return { type: 'about:blank', title: STATUS_CODES[status] ?? 'Error', status, detail };
}

export function sendProblem(reply: FastifyReply, body: Problem): FastifyReply {
  // As bytes, so that nothing serializes it once more.
  return reply
    .code(body.status)
    .header('content-type', 'application/problem+json')
    .send(Buffer.from(JSON.stringify(body)));
}

export function notFound(request: FastifyRequest): Problem {
  const path = request.url.split('?')[0] ?? '';
  return problem(404, `There is nothing at ${path}; /api/v1/openapi.json says what there is.`);
}

type Invalid = NonNullable<FastifyError['validation']>[number];

const shownCharacters = 60;

function invalidParameter(invalid: Invalid | undefined, query: unknown): string {
  const { additionalProperty: unknown } = invalid?.params as { additionalProperty?: string };
  if (unknown !== undefined) return `${unknown} is no parameter of this request.`;
  const { missingProperty: missing } = invalid?.params as { missingProperty?: string };
  const name = missing ?? invalid?.instancePath.split('/')[1] ?? '';
  const description = parameters[name]?.description;
  if (missing !== undefined) return `${name} is missing: ${description ?? ''}.`;
  const given = (query as Record<string, unknown> | null)?.[name];
  const shown = given === undefined ? '' : ` is ${JSON.stringify(given).slice(0, shownCharacters)}`;
  return `${name}${shown}; allowed: ${description ?? invalid?.message ?? ''}.`;
}
