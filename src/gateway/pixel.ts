import type { Refusal } from './refusal.ts';

/** A transparent image of one point, for pages and e-mails that can send no other request. */
export const pixel: Buffer = Buffer.from(
  'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7',
  'base64',
);

/** The call in the query, as the body of a request. Spaces were plus signs before the query was parsed. */
export function pixelBody(query: unknown): Buffer | Refusal {
  const { data } = query as { readonly data?: unknown };
  if (typeof data !== 'string' || data === '') return noData;
  return Buffer.from(data.replaceAll(' ', '+'), 'base64');
}

/** Rewords a refusal of a body as one of the call in the query. */
export function ofQuery(refusal: Refusal): Refusal {
  return { ...refusal, message: refusal.message.replace(/^The body/, 'The `data` of the query') };
}

const noData: Refusal = {
  code: 'no-data',
  message: 'The query has no `data`, which is a call as JSON in Base64.',
};
