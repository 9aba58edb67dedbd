import { invalid } from './plan-change.ts';
import type { Caller } from './access/caller.ts';
import type { FieldProblem } from '../http-api/problem.ts';

/** Resolves to the reason why deliveries would not connect to a URL's host; undefined: they would, as far as is known. */
export type RefusedAddress = (url: string) => Promise<string | undefined>;

/** URLs beyond those that a destination can have are refused by its schema. */
const mostUrls = 10;

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
  const webhooks = (body as { readonly webhooks?: unknown } | null)?.webhooks;
  if (!Array.isArray(webhooks)) return;
  for (const [index, each] of webhooks.entries()) {
    const webhook = each as Webhook | null;
    const urls = { url: webhook?.url, 'oauth2/tokenUrl': webhook?.oauth2?.tokenUrl };
    for (const [name, url] of Object.entries(urls))
      if (typeof url === 'string' && URL.canParse(url))
        yield { pointer: `/webhooks/${index}/${name}`, url };
  }
}

interface Webhook {
  readonly url?: unknown;
  readonly oauth2?: { readonly tokenUrl?: unknown };
}
