import { linkId } from './navigation.ts';
import { duration } from './format.ts';
import { filled, t } from './texts/texts.ts';

/** A field that the API cannot use, by its JSON pointer (RFC 6901), with the API's sentence. */
export interface FieldProblem {
  readonly pointer: string;
  readonly detail: string;
}

/** The API's refusal, by RFC 9457. */
export class Problem extends Error {
  /** 0: there was no answer. */
  readonly status: number;
  readonly advice: string;
  readonly fields: readonly FieldProblem[];

  constructor(
    status: number,
    sentence: string,
    advice: string,
    fields: readonly FieldProblem[] = [],
  ) {
    super(sentence);
    this.status = status;
    this.advice = advice;
    this.fields = fields;
  }
}

export function problemFrom(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem(0, String(error), '');
}

/** An answer, and the version of what it shows. */
export interface Versioned<Answer> {
  readonly answer: Answer;
  readonly etag: string | undefined;
}

interface Asked {
  readonly method?: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly csrf?: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

const root = '/api/v1';

/** @throws Problem */
export async function get<Answer>(path: string, signal?: AbortSignal): Promise<Answer> {
  return (await ask<Answer>(path, { signal })).answer;
}

/** @throws Problem */
export async function post<Answer>(path: string, csrf: string, body: object = {}): Promise<Answer> {
  return (await ask<Answer>(path, { method: 'POST', csrf, body })).answer;
}

/** @throws Problem */
export async function ask<Answer>(path: string, asked: Asked): Promise<Versioned<Answer>> {
  const { method = 'GET', csrf, body, signal } = asked;
  const headers = new Headers(asked.headers);
  if (linkId !== undefined) headers.set('x-postrider-link', linkId);
  if (csrf !== undefined) headers.set('x-csrf-token', csrf);
  if (body !== undefined) headers.set('content-type', 'application/json');
  let response: Response;
  try {
    response = await fetch(root + path, {
      method,
      headers,
      credentials: 'same-origin',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw noAnswer(method !== 'GET');
  }
  if (!response.ok) throw await problemOf(response, method !== 'GET', path.startsWith('/manage/'));
  const text = await response.text();
  const answer = (text === '' ? {} : JSON.parse(text)) as Answer;
  return { answer, etag: response.headers.get('etag') ?? undefined };
}

/** @param isAction nothing asks again by itself */
function noAnswer(isAction: boolean): Problem {
  if (linkId !== undefined)
    return new Problem(0, t.problems.noAnswer, isAction ? t.problems.again : t.problems.later);
  const { noAnswer: sentence, lookAtAudit, check } = t.staffProblems;
  return new Problem(0, sentence, isAction ? lookAtAudit : check);
}

interface Said {
  readonly sentence: string | undefined;
  readonly fields: readonly FieldProblem[];
}

/** @param isOfApi it is not the console that answers so */
async function problemOf(
  response: Response,
  isAction: boolean,
  isOfApi: boolean,
): Promise<Problem> {
  const { status } = response;
  const said = await saidBy(response);
  const waitS = Number(response.headers.get('retry-after') ?? '');
  const { fields, sentence } = said;
  switch (status) {
    case 401:
      // The session goes on: it is the API that does not take the credential any more.
      if (isOfApi && linkId === undefined)
        return new Problem(401, sentence ?? t.problems.ended, t.staffProblems.logIn);
      break;
    case 412:
      return new Problem(412, t.problems.changed, t.problems.lookAgain);
    case 429:
      return new Problem(
        429,
        t.problems.tooMany,
        waitS > 0 ? filled(t.problems.waitFor, { time: duration(waitS * 1_000) }) : t.problems.wait,
      );
    case 504:
      return new Problem(504, t.problems.late, t.problems.lookFirst);
    case 422:
      if (fields.length === 0) break;
      return new Problem(422, t.problems.invalid, t.problems.mend, fields);
    default:
  }
  return linkId === undefined
    ? staffsProblem(status, sentence, isAction)
    : customersProblem(status, sentence, isAction);
}

/** For customers, who cannot look into anything that runs here. */
function customersProblem(
  status: number,
  sentence: string | undefined,
  isAction: boolean,
): Problem {
  const words = t.problems;
  const advice = isAction ? words.again : words.later;
  if (status === 401) return new Problem(401, words.ended, words.openLink);
  if (status === 403) return new Problem(403, words.notAllowed, words.askSender);
  if (status === 503)
    return new Problem(503, words.noAnswerNow, isAction ? words.wait : words.later);
  return new Problem(status, sentence ?? words.nothing, advice);
}

function staffsProblem(status: number, sentence: string | undefined, isAction: boolean): Problem {
  const words = t.staffProblems;
  switch (status) {
    case 401:
      return new Problem(401, t.problems.ended, words.logIn);
    case 403:
      return new Problem(403, sentence ?? words.notAllowed, words.askRole);
    case 404:
      return new Problem(404, sentence ?? words.nothing, words.checkAddress);
    case 503:
      return new Problem(503, sentence ?? words.noKafka, isAction ? words.audit : words.goesOn);
    default:
      return new Problem(status, sentence ?? filled(words.answered, { status }), words.log);
  }
}

/** The sentence and the fields of a problem by RFC 9457; any other body says nothing. */
async function saidBy(response: Response): Promise<Said> {
  let json: Readonly<Record<string, unknown>>;
  try {
    json = ((await response.json()) as Record<string, unknown> | null) ?? {};
  } catch {
    return { sentence: undefined, fields: [] };
  }
  const text = (value: unknown): string | undefined =>
    typeof value === 'string' ? value : undefined;
  const sentence = text(json['detail']) ?? text(json['title']);
  const each = Array.isArray(json['errors']) ? (json['errors'] as unknown[]) : [json];
  const fields = each.flatMap((error): readonly FieldProblem[] => {
    const { pointer, detail } = (error ?? {}) as Readonly<Record<string, unknown>>;
    return typeof pointer === 'string' ? [{ pointer, detail: text(detail) ?? sentence ?? '' }] : [];
  });
  return { sentence, fields };
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
