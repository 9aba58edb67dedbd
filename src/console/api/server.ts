import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { version } from '../../ops/process.ts';
import type { Logger } from '../../ops/log.ts';
import type { Problem } from '../../http-api/answers.ts';
import { notFound, problem, sendProblem, type FailingApi } from '../../http-api/problem.ts';
import { compressAnswers, createHttpApi, takesGzip } from '../../http-api/server.ts';
import type { Access } from '../access/access.ts';
import { askingBy, hasRule, mayAsk, type Asking } from '../access/may-ask.ts';
import { framedPolicy, headers, imagePolicy } from '../access/page-headers.ts';
import { seenBy, unveiledQuery } from '../access/seen-by.ts';
import type { PageFile } from '../page-file.ts';
import { managePath } from '../manage/pass-on.ts';
import { answer } from './answers/answers.ts';
import type { Session } from './answers/deployment.ts';
import { models, type Dated } from './answers/shapes.ts';
import { parameters } from './parameters.ts';
import { Turns } from './turns.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The session of a request under `/api/v1`. */
    session: Session | null;
    /** The sender, with what this session may see now. */
    asking: Asking | null;
    /** Ends the turn of a customer's request, once it is answered. */
    endTurn: (() => void) | null;
  }
}

export interface ConsoleServerOptions {
  readonly access: Access;
  /** Networks whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[];
  readonly log: Logger;
  readonly pages: readonly PageFile[];
  /** Origins whose pages may show a customer's pages in a frame. */
  readonly frameAncestors: readonly string[];
  /** The ids of a customer's destinations now. */
  destinationsOf(customer: string): ReadonlySet<string>;
  /** Adds the routes, whose paths begin behind `/api/v1`. */
  routes(api: FastifyInstance): void;
  /** The age that answers state. */
  dated(): Dated;
  /** A request has failed, and nobody expected it. */
  onFailure(error: unknown): void;
  /** An API request was answered. */
  onAnswer(status: number, seconds: number): void;
}

const apiPath = '/api/v1';
const consoleApi: FailingApi = {
  name: 'the console',
  document: `${apiPath}/openapi.json`,
  parameters,
};
/** Nothing that is read here needs a body. */
const mostBodyBytes = 64 * 1024;

/** Names of assets change with what is in them. */
const forEver = 'public, max-age=31536000, immutable';
const notMeant =
  'The header x-csrf-token is missing or wrong, or a page of another site has sent this; /api/v1/session tells the token.';

/** The API and the pages, not listening yet. */
export async function createConsoleServer(options: ConsoleServerOptions): Promise<FastifyInstance> {
  const { access, trustedProxies, log, pages } = options;
  const server = await createHttpApi({
    ...consoleApi,
    title: 'Postrider console',
    description:
      'How the pipeline and its destinations are, and what has happened to events. Errors are problem details (RFC 9457).',
    prefix: apiPath,
    models,
    headers,
    mostBodyBytes,
    trustedProxies,
    log,
    objectionTo: ({ headers: { host } }) =>
      access.allowsHost(host) ? undefined : problem(421, wrongHost(host)),
    onFailure: (error) => {
      options.onFailure(error);
    },
  });
  server.addHook('onRequest', ({ url }, reply, next) => {
    const framed = framedPolicy(url, options.frameAncestors);
    if (framed !== undefined)
      reply.header('content-security-policy', framed).removeHeader('x-frame-options');
    next();
  });
  server.decorateRequest('session', null);
  server.decorateRequest('asking', null);
  server.decorateRequest('endTurn', null);
  await access.addRoutes(server);
  const unruled: string[] = [];
  await server.register(
    (api, _options, done) => {
      api.addHook('onRoute', ({ method, url }) => {
        for (const each of [method].flat())
          if (!hasRule(each, url.slice(apiPath.length))) unruled.push(`${each} ${url}`);
      });
      api.addHook('onRequest', (request, reply, next) => {
        reply.header('cache-control', 'no-store');
        request.session = access.sessionOf(request) ?? null;
        if (request.session !== null)
          request.asking = askingBy(request.session, (customer) =>
            options.destinationsOf(customer),
          );
        const objection = objectionTo(request, access);
        if (objection === undefined) next();
        else sendProblem(reply, objection);
      });
      api.addHook('preValidation', (request, _reply, next) => {
        // The API's own cursors are not veiled.
        if (request.asking?.own !== undefined && routeOf(request.routeOptions.url) !== managePath)
          request.query = unveiledQuery(request.query as Record<string, unknown>, access.veil);
        next();
      });
      const turns = new Turns();
      api.addHook('preHandler', async (request) => {
        const turn = request.asking?.turn;
        if (turn !== undefined) request.endTurn = await turns.begin(turn);
      });
      compressAnswers(api);
      // When it is answered, not when whoever asked has gone: what is read for it goes on until then.
      api.addHook('onSend', (request, _reply, payload, next) => {
        request.endTurn?.();
        request.endTurn = null;
        next(null, payload);
      });
      api.addHook('onResponse', (_request, reply, done) => {
        options.onAnswer(reply.statusCode, reply.elapsedTime / 1_000);
        done();
      });
      api.addHook('preSerialization', async ({ asking, routeOptions }, _reply, answer) =>
        asking === null ? answer : seenBy(asking, routeOf(routeOptions.url), answer, access.veil),
      );
      api.addHook('preSerialization', ({ method, routeOptions }, reply, answer, next) => {
        const isDated = method === 'GET' && reply.statusCode === 200 && isFields(answer);
        const hasAge = isDated && !ageless.has(routeOf(routeOptions.url));
        next(null, hasAge ? { ...options.dated(), ...answer } : answer);
      });
      api.get('/openapi.json', { schema: { hide: true } }, () => server.swagger());
      api.get(
        '/session',
        { schema: { summary: 'Who asks', response: answer('session') } },
        ({ session }) => (session?.role === 'customer' ? session : { ...session, version }),
      );
      options.routes(api);
      done();
    },
    { prefix: apiPath },
  );
  if (unruled.length > 0) throw new Error(`no rule says who may ask ${unruled.join(', ')}`);
  const index = pages.find(({ path }) => path === 'index.html');
  for (const file of pages)
    if (file !== index)
      server.get(`/${file.path}`, (request, reply) => sendFile(file, forEver, request, reply));
  server.setNotFoundHandler((request, reply) => {
    // A page's own path, such as /destinations/crm, is the pages' to understand.
    const isPage = request.method === 'GET' && !request.url.startsWith('/api/');
    const wantsPage = request.headers.accept?.includes('text/html') === true;
    if (index !== undefined && isPage && wantsPage)
      return sendFile(index, 'no-cache', request, reply);
    return sendProblem(reply, notFound(request, consoleApi));
  });
  return server;
}

function sendFile(
  { contentType, content, gzip }: PageFile,
  cacheControl: string,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  reply.code(200).headers({ 'cache-control': cacheControl, vary: 'accept-encoding' });
  reply.header('content-type', contentType);
  if (contentType.startsWith('image/')) reply.header('content-security-policy', imagePolicy);
  if (!takesGzip(request)) return reply.send(content);
  return reply.header('content-encoding', 'gzip').send(gzip);
}

/** Undefined: it may be answered. */
function objectionTo(request: FastifyRequest, access: Access): Problem | undefined {
  const { session, asking, method, routeOptions } = request;
  if (session === null || asking === null) return problem(401, 'You are not logged in.');
  const params = request.params as Readonly<Record<string, string>>;
  const route = routeOf(routeOptions.url);
  if (!mayAsk(asking, { method, route, params })) return problem(403, notAllowed(session, route));
  if (method === 'GET' || method === 'HEAD' || access.isMeant(request)) return undefined;
  return problem(403, notMeant);
}

/** They say of nothing that changes. */
const ageless: ReadonlySet<string> = new Set(['/openapi.json', '/session']);

function isFields(answer: unknown): answer is object {
  return typeof answer === 'object' && answer !== null;
}

function routeOf(url: string | undefined): string {
  return url?.slice(apiPath.length) ?? '';
}

function notAllowed({ role, destination, customer }: Session, route: string): string {
  if (route === managePath)
    return role === 'viewer'
      ? 'Only operators may do this; you are a viewer.'
      : 'Nothing can be changed with this session.';
  if (role !== 'customer') return `Only operators may do this; you are a ${role}.`;
  return customer === undefined
    ? `Your link shows the destination ${destination ?? ''} only.`
    : `Your link shows the destinations of ${customer} only.`;
}

function wrongHost(host: string | undefined): string {
  const given = host === undefined ? 'The request names no host' : `The request is for ${host}`;
  return `${given}; without log-in the console answers only to localhost, 127.0.0.1 and [::1].`;
}
