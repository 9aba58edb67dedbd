import { STATUS_CODES } from 'node:http';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { PostriderError, type ErrorCode } from '../errors.ts';
import type { Problem } from './answers.ts';
import type { Parameters } from './parameters.ts';

export type FieldProblem = NonNullable<Problem['errors']>[number];

export interface ProblemParts {
  /** For a body with fields that are wrong. */
  readonly errors?: readonly FieldProblem[];
  /** The header `Retry-After`. */
  readonly retryAfterS?: number;
  /** The header `WWW-Authenticate`. */
  readonly authenticate?: string;
}

/** An answer that is no success. Its detail is one sentence for a person. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly status: number;
  readonly parts: ProblemParts;

  constructor(status: number, detail: string, parts: ProblemParts = {}) {
    super(detail);
    this.status = status;
    this.parts = parts;
  }
}

/** The API in which requests fail. */
export interface FailingApi {
  /** Its name in a sentence, e.g. `the console`. */
  readonly name: string;
  /** The path of its OpenAPI document. */
  readonly document: string;
  readonly parameters: Parameters;
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
export function problemOf(
  error: unknown,
  query: unknown,
  { name, parameters }: Omit<FailingApi, 'document'>,
): Problem {
  if (error instanceof ProblemError) {
    const { errors } = error.parts;
    const answer = problem(error.status, error.message);
    return errors === undefined ? answer : { ...answer, errors };
  }
  if (error instanceof PostriderError) {
    const status = statuses[error.code];
    if (status !== undefined) return problem(status, error.message);
  }
  const { validation, statusCode } = error as Partial<FastifyError>;
  if (validation !== undefined)
    return problem(400, invalidParameter(validation[0], query, parameters));
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500)
    return problem(statusCode, `${(error as Error).message}.`);
  return problem(500, `${name.replace(/^t/, 'T')} has failed on this request; its log says why.`);
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

export function notFound(request: FastifyRequest, { document }: FailingApi): Problem {
  const path = request.url.split('?')[0] ?? '';
  return problem(404, `There is nothing at ${path}; ${document} says what there is.`);
}

type Invalid = NonNullable<FastifyError['validation']>[number];

const shownCharacters = 60;

function invalidParameter(
  invalid: Invalid | undefined,
  query: unknown,
  parameters: Parameters,
): string {
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
