import swagger from '@fastify/swagger';
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Logger } from '../../ops/log.ts';
import type { Access } from '../access/access.ts';
import type { PageFile } from '../build-pages.ts';
import type { Session } from './model.ts';
import { notFound, problem, problemOf, sendProblem } from './problem.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whoever asks; of requests under `/api/v1` only. */
    session: Session | null;
  }
}

export interface ConsoleServerOptions {
  readonly access: Access;
  readonly log: Logger;
  readonly pages: readonly PageFile[];
  /** Adds the routes, whose paths begin behind `/api/v1`. */
  routes(api: FastifyInstance): void;
  /** A request has failed, and nobody expected it. */
  onFailure(error: unknown): void;
}

/** Nothing from elsewhere, nothing inline, in nobody's frame. */
const headers: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

const apiPath = '/api/v1';
/** Nothing that is read here needs a body. */
const mostBodyBytes = 64 * 1024;

/** Names of assets change with what is in them. */
const forEver = 'public, max-age=31536000, immutable';

/** The API and the pages, not listening yet. */
export async function createConsoleServer(options: ConsoleServerOptions): Promise<FastifyInstance> {
  const { access, log, pages } = options;
  const server = fastify({
    bodyLimit: mostBodyBytes,
    requestTimeout: 30_000,
    forceCloseConnections: true,
    ajv: { customOptions: { removeAdditional: false, coerceTypes: true } },
  });
  server.decorateRequest('session', null);
  server.addHook('onRequest', (request, reply, done) => {
    reply.headers(headers);
    if (!access.allowsHost(request.headers.host))
      sendProblem(reply, problem(421, wrongHost(request.headers.host)));
    else done();
  });
  server.setErrorHandler((error, request, reply) => {
    const answer = problemOf(error, {
      ...(request.query as object),
      ...(request.params as object),
    });
    if (answer.status >= 500) {
      log.warn({ err: error, url: request.url }, 'a request to the console has failed');
      options.onFailure(error);
    }
    return sendProblem(reply, answer);
  });
  await server.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Postrider console',
        description:
          'How the pipeline and its destinations are, and what has happened to events. Errors are problem details (RFC 9457).',
        version: '1',
      },
    },
  });
  await server.register(
    (api, _options, done) => {
      api.addHook('onRequest', (request, reply, next) => {
        reply.header('cache-control', 'no-store');
        request.session = access.sessionOf(request) ?? null;
        if (request.session === null) sendProblem(reply, problem(401, 'You are not logged in.'));
        else if (request.method === 'POST' && !isMeant(request, request.session))
          sendProblem(reply, problem(403, 'The request does not come from a page of the console.'));
        else next();
      });
      api.get('/openapi.json', { schema: { hide: true } }, () => server.swagger());
      api.get('/session', { schema: { summary: 'Who asks' } }, ({ session }) => session);
      options.routes(api);
      done();
    },
    { prefix: apiPath },
  );
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
    return sendProblem(reply, notFound(request));
  });
  return server;
}

/** A page of somebody else's cannot read the token, nor send the header. */
function isMeant({ headers: sent }: FastifyRequest, { csrf }: Session): boolean {
  return sent['x-csrf-token'] === csrf;
}

function sendFile(
  { contentType, content, gzip }: PageFile,
  cacheControl: string,
  { headers: { 'accept-encoding': accepted = '' } }: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  reply.code(200).headers({ 'cache-control': cacheControl, vary: 'accept-encoding' });
  reply.header('content-type', contentType);
  if (!/\bgzip\b/.test(accepted)) return reply.send(content);
  return reply.header('content-encoding', 'gzip').send(gzip);
}

function wrongHost(host: string | undefined): string {
  const given = host === undefined ? 'The request names no host' : `The request is for ${host}`;
  return `${given}; without log-in the console answers only to localhost, 127.0.0.1 and [::1].`;
}
