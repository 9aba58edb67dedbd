import { linkId } from './navigation.ts';

/** The API's refusal, by RFC 9457. */
export class Problem extends Error {
  /** 0: there was no answer. */
  readonly status: number;
  readonly advice: string;

  constructor(status: number, sentence: string, advice: string) {
    super(sentence);
    this.status = status;
    this.advice = advice;
  }
}

const root = '/api/v1';

/** @throws Problem */
export async function get<Answer>(path: string, signal?: AbortSignal): Promise<Answer> {
  return ask<Answer>(path, signal === undefined ? {} : { signal });
}

/** @throws Problem */
export async function post<Answer>(path: string, csrf: string, body: object = {}): Promise<Answer> {
  return ask<Answer>(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-csrf-token': csrf },
    body: JSON.stringify(body),
  });
}

async function ask<Answer>(path: string, init: RequestInit): Promise<Answer> {
  let response: Response;
  try {
    const headers = new Headers(init.headers);
    if (linkId !== undefined) headers.set('x-postrider-link', linkId);
    response = await fetch(root + path, { ...init, headers, credentials: 'same-origin' });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    if (linkId !== undefined) throw new Problem(0, 'There is no answer.', laterAdvice);
    throw new Problem(
      0,
      'The console does not answer.',
      init.method === 'POST'
        ? 'Check that `postrider console` runs and that you can reach it, and look at the page Audit before you try again.'
        : 'Check that `postrider console` runs and that you can reach it. This page goes on trying.',
    );
  }
  if (response.ok) return (await response.json()) as Answer;
  throw await problemOf(response, init.method === 'POST');
}

const laterAdvice =
  'This page goes on trying. If it stays like this, tell the people who gave you the link.';

/** For customers, who cannot look into anything that runs here. */
function customersProblem(status: number, sentence: string | undefined): Problem {
  if (status === 401)
    return new Problem(
      401,
      'Your session has ended.',
      'Open your link again; if it has expired, ask its sender for a new one.',
    );
  if (status === 503) return new Problem(503, 'There is no answer at the moment.', laterAdvice);
  return new Problem(status, sentence ?? 'There is nothing to see here.', laterAdvice);
}

/** @param isAction nothing asks again by itself */
async function problemOf(response: Response, isAction: boolean): Promise<Problem> {
  const { title, detail } = await said(response);
  const sentence = detail ?? title;
  if (linkId !== undefined) return customersProblem(response.status, sentence);
  switch (response.status) {
    case 401:
      return new Problem(401, 'Your session has ended.', 'Log in again to go on.');
    case 403:
      return new Problem(
        403,
        sentence ?? 'You may not see or do this.',
        'Ask the people who run this console for the role that you need.',
      );
    case 404:
      return new Problem(
        404,
        sentence ?? 'There is nothing here.',
        'Check the address, or search for it.',
      );
    case 503:
      return new Problem(
        503,
        sentence ?? 'The console cannot reach Kafka.',
        isAction
          ? 'Look at the page Audit before you try again: it says whether it was done later.'
          : 'Delivery does not depend on the console. This page goes on trying.',
      );
    default:
      return new Problem(
        response.status,
        sentence ?? `The console answered ${response.status}.`,
        'Try again; if it stays like this, the log of `postrider console` says why.',
      );
  }
}

async function said(response: Response): Promise<{ title?: string; detail?: string }> {
  try {
    const json = (await response.json()) as Record<string, unknown> | null;
    const { title, detail } = json ?? {};
    return {
      ...(typeof title === 'string' ? { title } : {}),
      ...(typeof detail === 'string' ? { detail } : {}),
    };
  } catch {
    return {};
  }
}

/** `/attempts?failed=true`, without what is undefined. */
export function withQuery(
  path: string,
  query: Readonly<Record<string, string | number | boolean | undefined>>,
): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? path : `${path}?${text}`;
}

/** A field's text; undefined for one that was left empty. */
export function given(text: string): string | undefined {
  return text === '' ? undefined : text;
}
