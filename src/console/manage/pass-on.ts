import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ProblemError } from '../../http-api/problem.ts';
import type { Access } from '../access/access.ts';
import type { ApiClient, ApiRequest } from './api-client.ts';

/** The route whose requests are passed on; `*` is the API's own path behind `/v1/`. */
export const managePath = '/manage/*';

const methods = ['GET', 'PUT', 'PATCH', 'POST', 'DELETE'] as const;

/** Parameters of the API's routes. No other one is passed on. */
const passedParameters: ReadonlySet<string> = new Set([
  'dryRun',
  'customer',
  'state',
  'cursor',
  'limit',
]);
const passedHeaders = ['content-type', 'if-match', 'if-none-match'] as const;
const contentTypes = ['application/json', 'application/merge-patch+json'];
/** More than any destination, whose payload may have 32 KB. */
const mostBodyBytes = 256 * 1024;

interface PassOnDeps {
  readonly client: ApiClient;
  readonly credentialOf: Access['credentialOf'];
}

/**
 * Passes requests on to the API with the credential of whoever asks. The console looks at nothing in them: it has no
 * right to write `config`, and the API checks by itself whose credential it is and what it may do.
 */
export function addPassOn(api: FastifyInstance, { client, credentialOf }: PassOnDeps): void {
  api.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(contentTypes, { parseAs: 'buffer' }, (_request, body, parsed) => {
      parsed(null, body);
    });
    scope.route({
      method: [...methods],
      url: managePath,
      schema: { hide: true },
      exposeHeadRoute: false,
      bodyLimit: mostBodyBytes,
      handler: async (request, reply) => {
        const asked = passedOn(request, credentialOf(request));
        const { status, headers, text } = await client.ask(asked);
        // As bytes, which are never compressed: a new secret may be in it, beside what somebody else has chosen.
        return reply.code(status).headers(headers).send(Buffer.from(text));
      },
    });
    done();
  });
}

/**
 * The request to the API, of which only what is named here is the caller's.
 * @throws ProblemError 400 for a path or a parameter that no route of the API has
 */
export function passedOn(
  { method, url, headers, body }: Pick<FastifyRequest, 'method' | 'url' | 'headers' | 'body'>,
  credential: string | undefined,
): ApiRequest {
  const content = Buffer.isBuffer(body) && body.length > 0 ? body : null;
  const given = passedHeaders.flatMap((name) => {
    const value = headers[name];
    // The API takes a content type without a content for a mistake.
    const isPassed = typeof value === 'string' && (content !== null || name !== 'content-type');
    return isPassed ? [[name, value] as const] : [];
  });
  return {
    method: method as ApiRequest['method'],
    path: apiPathOf(url),
    headers: {
      accept: 'application/json, application/problem+json',
      ...(credential === undefined ? {} : { authorization: `Bearer ${credential}` }),
      ...Object.fromEntries(given),
    },
    body: content,
  };
}

/** Each part of the path is read and written anew, so no part can leave `/v1/`, whatever the API's server makes of it. */
function apiPathOf(url: string): string {
  const at = url.indexOf('?');
  const [path, query] = at < 0 ? [url, ''] : [url.slice(0, at), url.slice(at)];
  const parts = path.slice(path.indexOf('/manage/') + '/manage/'.length).split('/');
  const written = parts.map((part) => {
    const name = decoded(part);
    if (name === undefined || name === '' || name === '.' || name === '..')
      throw new ProblemError(400, 'The path behind /manage/ is none of the API.');
    return encodeURIComponent(name);
  });
  const parameters = new URLSearchParams(query);
  for (const name of parameters.keys())
    if (!passedParameters.has(name))
      throw new ProblemError(
        400,
        `${name} is no parameter that is passed on; allowed: ${[...passedParameters].join(', ')}.`,
      );
  const text = parameters.toString();
  return `/v1/${written.join('/')}${text === '' ? '' : `?${text}`}`;
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
