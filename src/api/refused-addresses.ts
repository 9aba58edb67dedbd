import { invalid } from './plan-change.ts';
import type { Caller } from './access/caller.ts';
import type { FieldProblem } from '../http-api/problem.ts';

/** Resolves to the reason why deliveries would not connect to a URL's host; undefined: they would, as far as is known. */
export type RefusedAddress = (url: string) => Promise<string | undefined>;

/** Two of each of five webhooks, and one for notices: more of them are refused by the schema of destinations. */
const mostUrls = 11;

/**
 * Refuses URLs that lead to inner addresses. Workers refuse them as well, at every connection: what a name resolves to
 * can change; but whoever makes a destination then learns it when nothing arrives.
 * @throws ProblemError 422
 */
export async function requireAddresses(
  body: unknown,
  { customers }: Caller,
  refusedAddress: RefusedAddress,
): Promise<void> {
  const urls = [...urlsIn(body)].slice(0, mostUrls);
  const found = await Promise.all(
    urls.map(async ({ pointer, url }): Promise<FieldProblem[]> => {
      const reason = await refusedAddress(url);
      // Customers need not know what the platform's settings are.
      const detail = customers === undefined ? reason : 'leads to an address that is not public';
      return reason === undefined ? [] : [{ pointer, detail: detail ?? '' }];
    }),
  );
  const problems = found.flat();
  if (problems.length > 0) throw invalid('The destination', problems);
}

function* urlsIn(body: unknown): Generator<{ readonly pointer: string; readonly url: string }> {
  const { webhooks, notify } = (body ?? {}) as Given;
  const all: (readonly [pointer: string, url: unknown])[] = [['/notify/url', notify?.url]];
  if (Array.isArray(webhooks))
    for (const [index, each] of webhooks.entries()) {
      const webhook = each as Webhook | null;
      all.push([`/webhooks/${index}/url`, webhook?.url]);
      all.push([`/webhooks/${index}/oauth2/tokenUrl`, webhook?.oauth2?.tokenUrl]);
    }
  for (const [pointer, url] of all)
    if (typeof url === 'string' && URL.canParse(url)) yield { pointer, url };
}

interface Given {
  readonly webhooks?: unknown;
  readonly notify?: { readonly url?: unknown } | null;
}

interface Webhook {
  readonly url?: unknown;
  readonly oauth2?: { readonly tokenUrl?: unknown };
}
