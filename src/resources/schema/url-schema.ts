import { z } from 'zod';
import { placeholdersOf, type Placeholder } from '../../event/placeholders.ts';
import { hasPlaceholders, parseUrlTemplate } from '../../event/url-template.ts';
import { httpMethods, type Destination, type HttpMethod, type Webhook } from '../resource.ts';
import { callPathProblem } from './possible-paths.ts';
import { parseSealedUrl, storedUrlProblem } from './texts.ts';

export const method: z.ZodType<HttpMethod> = z.enum(httpMethods);

/** Far above what people write: each value travels with each event, in up to a kilobyte. */
const mostPaths = 10;

/** Why this cannot be the URL of a stored destination's webhook, which may be sealed. */
export function webhookUrlProblem(url: string): string | undefined {
  if (!hasPlaceholders(url)) return storedUrlProblem(url);
  const template = parseUrlTemplate(url);
  if ('problem' in template) return template.problem;
  for (const { text, path } of placeholdersOf(template.target)) {
    const problem = callPathProblem(path);
    if (problem !== undefined) return `has {{${text}}}, which ${problem}`;
  }
  return storedUrlProblem(url);
}

/** Why this cannot be the URL of a notice hook. */
export function hookUrlProblem(url: string): string | undefined {
  return hasPlaceholders(url)
    ? 'must not have placeholders: a notice is no call'
    : storedUrlProblem(url);
}

interface WithWebhooks {
  readonly webhooks: readonly Webhook[];
}

export function refuseTooManyUrlPaths({ webhooks }: WithWebhooks, context: z.RefinementCtx): void {
  if (pathsOf(webhooks).length > mostPaths)
    context.addIssue({
      code: 'custom',
      path: ['webhooks'],
      message: `must have placeholders with at most ${mostPaths} different paths`,
    });
}

/** Adds what follows from the URLs of the webhooks, as far as they are not sealed. */
export function withUrlPaths<T extends WithWebhooks>(
  destination: T,
): T & Pick<Destination, 'urlPaths'> {
  const { webhooks } = destination;
  const urlPaths = pathsOf(webhooks);
  return {
    ...destination,
    webhooks: webhooks.map(withMethod),
    ...(urlPaths.length === 0 ? {} : { urlPaths }),
  };
}

/**
 * The usual method is stored as none, which former releases can read. With placeholders it is stored, so that former
 * releases, which would take these for a part of the URL, keep the version of before in force.
 */
function withMethod({ method: given, ...webhook }: Webhook): Webhook {
  if (hasPlaceholders(webhook.url)) return { ...webhook, method: given ?? 'POST' };
  const isUsual = given === 'POST' && parseSealedUrl(webhook.url) === undefined;
  return given === undefined || isUsual ? webhook : { ...webhook, method: given };
}

function pathsOf(webhooks: readonly Webhook[]): readonly string[] {
  return [...new Set(webhooks.flatMap(({ url }) => placeholdersIn(url).map(({ text }) => text)))];
}

function placeholdersIn(url: string): readonly Placeholder[] {
  const template = hasPlaceholders(url) ? parseUrlTemplate(url) : undefined;
  return template === undefined || 'problem' in template ? [] : placeholdersOf(template.target);
}
