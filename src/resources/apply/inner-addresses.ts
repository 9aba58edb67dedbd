import { isIP } from 'node:net';
import { problemAt, type ParsedFile } from './document.ts';
import type { Problem } from '../problem.ts';
import type { Resource } from '../resource.ts';

/** The addresses of `localhost`, in either family. */
const loopback = ['127.0.0.1', '::1'];

/**
 * Webhooks whose URL shows that delivery will refuse it, because it has an address that is not public, or
 * `localhost`. Not an error, because the setting of the workers decides, which may differ from the one here.
 * @param allows whether delivery may connect to this address
 */
export function findInnerAddresses(
  { documents }: ParsedFile,
  allows: (address: string) => boolean,
): Problem[] {
  return documents.flatMap((document) => {
    const { parsed } = document;
    if (!('resource' in parsed)) return [];
    return urlsOf(parsed.resource).flatMap(([path, url]) => {
      const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
      const addresses = addressesOf(host);
      if (addresses.length === 0 || addresses.some(allows)) return [];
      const reason = `${host} is not a public address; deliveries there are refused unless DELIVERY_ALLOW_NETWORKS of the workers allows them`;
      return [problemAt(document, path, reason)];
    });
  });
}

/** Each URL with its path in the resource. */
export function urlsOf(resource: Resource): readonly (readonly [readonly PropertyKey[], string])[] {
  if (resource.kind === 'NoticeHook') return [[['url'], resource.url]];
  if (resource.kind !== 'Destination') return [];
  return resource.webhooks.map(({ url }, index) => [['webhooks', index, 'url'], url] as const);
}

/** For names, only those that resolve to this machine everywhere. */
function addressesOf(host: string): readonly string[] {
  if (/(?:^|\.)localhost\.?$/.test(host)) return loopback;
  return isIP(host) === 0 ? [] : [host];
}
