import { promisify } from 'node:util';
import zlib from 'node:zlib';
import swagger from '@fastify/swagger';
import { fastify, type FastifyInstance, type FastifyRequest } from 'fastify';
import { limitConnections } from '../ops/connection-limit.ts';
import type { Logger } from '../ops/log.ts';
import type { Models, Problem } from './answers.ts';
import { problem, ProblemError, problemOf, sendProblem, type FailingApi } from './problem.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The JSON Schema of a body that the handler checks by itself, for the document. */
    describedBody?: object;
  }
}

export interface HttpApiOptions extends FailingApi {
  /** The title of its document, and what the document says first. */
  readonly title: string;
  readonly description: string;
  /** The beginning of the paths that the document describes. */
  readonly prefix: string;
  readonly models: Models;
  /** For every answer. */
  readonly headers: Readonly<Record<string, string>>;
  readonly mostBodyBytes: number;
  /** Networks whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[];
  readonly log: Logger;
  /** The reason to refuse a request of any path, before anything else is looked at. */
  objectionTo(request: FastifyRequest): Problem | undefined;
  /** A request has failed, and nobody expected it. */
  onFailure(error: unknown): void;
}

/** A browser opens six. */
const connections = { most: 2_048, mostOfClient: 256 };

/** A server with limits, whose errors are problem details, and whose routes describe themselves; not listening yet. */
export async function createHttpApi(options: HttpApiOptions): Promise<FastifyInstance> {
  const { title, description, prefix, models, headers, trustedProxies, log } = options;
  const server = fastify({
    bodyLimit: options.mostBodyBytes,
    requestTimeout: 30_000,
    // An id has up to 1,024 characters, each of up to twelve in a path.
    routerOptions: { maxParamLength: 12 * 1_024 },
    trustProxy: trustedProxies.length === 0 ? false : [...trustedProxies],
    forceCloseConnections: true,
    frameworkErrors: (_error, _request, reply) => {
      // No hook runs for an address that cannot be read.
      reply.headers(headers);
      sendProblem(reply, problem(400, 'The address of the request is not a valid one.'));
    },
    ajv: { customOptions: { removeAdditional: false, coerceTypes: true } },
  });
  limitConnections(server.server, { ...connections, exempt: trustedProxies });
  // The schemas of answers are for whoever reads the document.
  server.setSerializerCompiler(() => (data) => JSON.stringify(data));
  for (const schema of models.schemas()) server.addSchema(schema);
  server.addHook('onRequest', (request, reply, done) => {
    reply.headers(headers);
    const objection = options.objectionTo(request);
    if (objection === undefined) done();
    else sendProblem(reply, objection);
  });
  server.setErrorHandler((error, request, reply) => {
    const given = { ...(request.query as object), ...(request.params as object) };
    const answer = problemOf(error, given, options);
    if (answer.status >= 500) {
      // Not its address: queries have ids of users.
      const { method, routeOptions } = request;
      log.warn(
        { err: error, method, route: routeOptions.url },
        `a request to ${options.name} has failed`,
      );
      options.onFailure(error);
    }
    const { retryAfterS, authenticate } = error instanceof ProblemError ? error.parts : {};
    if (retryAfterS !== undefined) reply.header('retry-after', retryAfterS);
    if (authenticate !== undefined) reply.header('www-authenticate', authenticate);
    return sendProblem(reply, answer);
  });
  await server.register(swagger, {
    openapi: { openapi: '3.1.0', info: { title, description, version: '1' } },
    // Pages and log-in are for browsers.
    transform: ({ schema, url, route }) => {
      const { describedBody: body } = route.config ?? {};
      const described = body === undefined ? schema : { ...schema, body };
      return { schema: url.startsWith(prefix) ? described : { ...schema, hide: true }, url };
    },
    refResolver: { buildLocalReference: ({ $id }) => $id as string },
  });
  return server;
}

/** Characters. A session, with its token, is shorter, and so is never compressed beside what somebody else has chosen. */
const compressedFrom = 4 * 1024;
const gzip = promisify(zlib.gzip);

/** Compresses long answers for clients that take it. */
export function compressAnswers(api: FastifyInstance): void {
  api.addHook('onSend', async (request, reply, payload) => {
    if (typeof payload !== 'string' || payload.length < compressedFrom) return payload;
    reply.header('vary', 'accept-encoding');
    if (!takesGzip(request)) return payload;
    reply.header('content-encoding', 'gzip').removeHeader('content-length');
    return gzip(payload);
  });
}

export function takesGzip({ headers }: FastifyRequest): boolean {
  return /\bgzip\b/.test(headers['accept-encoding'] ?? '');
}
