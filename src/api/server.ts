import type { FastifyInstance, FastifyRequest } from 'fastify';
import { notFound, ProblemError, sendProblem, type FailingApi } from '../http-api/problem.ts';
import { compressAnswers, createHttpApi } from '../http-api/server.ts';
import type { Logger } from '../ops/log.ts';
import type { ApiAccess } from './access/access.ts';
import { requireScopes, type Caller, type Scope } from './access/caller.ts';
import { models } from './answers.ts';
import { accept, parameters } from './parameters.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller of a request to the API, once it is known. */
    caller: Caller | null;
  }
  interface FastifyContextConfig {
    /** The scope that a route of the API needs. A route without one is a mistake, found when it is added. */
    scope?: Scope;
  }
}

export interface ApiServerOptions {
  readonly access: ApiAccess;
  readonly trustedProxies: readonly string[];
  readonly log: Logger;
  /** Adds the routes, whose paths begin behind `/v1`. */
  routes(api: FastifyInstance): void;
  /** A request has failed, and nobody expected it. */
  onFailure(error: unknown): void;
  /** A request was answered. */
  onAnswer(status: number, seconds: number): void;
}

const prefix = '/v1';
const document = `${prefix}/openapi.json`;
const failing: FailingApi = { name: 'the API', document, parameters };

const headers: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
};

/** A destination has at most five URLs, each with headers and a client certificate, and a filter. */
const mostBodyBytes = 256 * 1024;

/**
 * More than any resource has within the bounds of `findTooLarge`: 2,500 values of a filter, 1,000 of a body, 1,000 names of
 * events, 500 headers, and what is around them.
 */
const mostValues = 6_000;
/** The deepest part of a resource is the template of a body, which people write by hand. */
const mostDepth = 64;

const description =
  'Adds, changes and removes sources and destinations. The fields of a resource are those of its file. Errors are problem details (RFC 9457); `errors` names the fields that are wrong.';

/** The API, not listening yet. */
export async function createApiServer(options: ApiServerOptions): Promise<FastifyInstance> {
  const { access, trustedProxies, log } = options;
  const server = await createHttpApi({
    ...failing,
    title: 'Postrider API',
    description,
    prefix,
    models,
    headers,
    mostBodyBytes,
    trustedProxies,
    log,
    objectionTo: (request) => access.objectionTo(request),
    onFailure: (error) => {
      options.onFailure(error);
    },
  });
  // A page of another site can make a browser send text without asking first.
  server.removeContentTypeParser('text/plain');
  const parse = server.getDefaultJsonParser('error', 'error');
  server.addContentTypeParser(
    ['application/json', 'application/merge-patch+json'],
    { parseAs: 'string' },
    (request, body, done) => {
      // Many clients say that they send JSON, and send nothing, such as with DELETE.
      if (body === '') done(null, undefined);
      else void parse(request, body.toString(), done);
    },
  );
  server.decorateRequest('caller', null);
  const unruled: string[] = [];
  await server.register(
    (api, _options, done) => {
      api.addHook('onRoute', (route) => {
        const { method, url, config } = route;
        // What a route does not know would be passed over, such as the dryRun of a caller who wants nothing done.
        route.schema = { querystring: accept([]), ...route.schema };
        if (url !== document && config?.scope === undefined)
          unruled.push(`${method.toString()} ${url}`);
      });
      api.addHook('onRequest', async (request) => {
        request.caller = await access.callerOf(request);
        const { scope } = request.routeOptions.config;
        if (scope !== undefined) requireScopes(request.caller, [scope], 'This needs');
      });
      api.addHook('preValidation', (request, _reply, next) => {
        requireBounds(request.body);
        next();
      });
      compressAnswers(api);
      api.addHook('onResponse', (_request, reply, next) => {
        options.onAnswer(reply.statusCode, reply.elapsedTime / 1_000);
        next();
      });
      api.get('/openapi.json', { schema: { hide: true } }, () => server.swagger());
      options.routes(api);
      done();
    },
    { prefix },
  );
  if (unruled.length > 0) throw new Error(`no scope says who may ask ${unruled.join(', ')}`);
  server.setNotFoundHandler((request, reply) => sendProblem(reply, notFound(request, failing)));
  return server;
}

/**
 * Bounds what a body costs that is small: a thousand brackets would be as many calls of whatever looks at it, and each
 * unknown field is compared with all that there are.
 * @throws ProblemError 400
 */
function requireBounds(body: unknown): void {
  let level: readonly unknown[] = [body];
  let values = 0;
  for (let depth = 0; level.length > 0; depth += 1) {
    values += level.length;
    if (depth > mostDepth)
      throw new ProblemError(400, `The body is nested deeper than ${mostDepth} levels.`);
    if (values > mostValues)
      throw new ProblemError(400, `The body has more than ${mostValues} values.`);
    level = level.flatMap((each) =>
      typeof each === 'object' && each !== null ? (Object.values(each) as unknown[]) : [],
    );
  }
}

/** The caller of a request that was let in. */
export function callerOf({ caller }: FastifyRequest): Caller {
  if (caller === null) throw new Error('a request without a caller was let in');
  return caller;
}
