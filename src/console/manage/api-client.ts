import { errors, Pool } from 'undici';
import { asError } from '../../errors.ts';
import { ProblemError } from '../../http-api/problem.ts';

/** A request to the API, made of what may be passed on of another one. */
export interface ApiRequest {
  readonly method: 'GET' | 'PUT' | 'PATCH' | 'POST' | 'DELETE';
  /** From `/v1/` on, with its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
}

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** The ends of a request: the API answered, cannot have got it, or may have done what was asked. */
export const apiOutcomes = ['answered', 'unreachable', 'unanswered'] as const;
export type ApiOutcome = (typeof apiOutcomes)[number];

/** Each customer has two at a time, and a test of an endpoint may take seconds. */
const mostConnections = 128;
const connectMs = 3_000;
/** The API waits ten seconds for Kafka at most, and tests an endpoint in less than twenty. */
const answerMs = 30_000;
/** A page of a list of destinations with large payloads. */
const mostAnswerBytes = 4 * 1024 * 1024;

/** The headers of an answer that are passed back. */
const passedBack = [
  'content-type',
  'etag',
  'location',
  'retry-after',
  'postrider-config-offset',
] as const;

const jsonType = /^application\/(?:[\w.-]+\+)?json\b/i;

/** Asks the API that `CONSOLE_API_URL` names, over a pool of connections. Follows no redirect. */
export class ApiClient {
  readonly #pool: Pool;
  readonly #told: (outcome: ApiOutcome) => void;

  /**
   * @param url the API's origin
   * @param told for each request
   */
  constructor(url: string, told: (outcome: ApiOutcome) => void) {
    this.#pool = new Pool(url, {
      connections: mostConnections,
      connect: { timeout: connectMs },
      // One timeout is for all of an answer.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxResponseSize: mostAnswerBytes,
    });
    this.#told = told;
  }

  /** @throws ProblemError 502 for what is no answer of the API, 503 where it is away, 504 where it does not answer */
  async ask(request: ApiRequest): Promise<ApiAnswer> {
    try {
      const signal = AbortSignal.timeout(answerMs);
      const { statusCode, headers, body } = await this.#pool.request({ ...request, signal });
      const text = await body.text();
      this.#told('answered');
      return checked({ status: statusCode, headers: named(headers), text });
    } catch (error) {
      if (error instanceof ProblemError) throw error;
      const { outcome, problem } = failureOf(asError(error));
      this.#told(outcome);
      throw problem;
    }
  }

  /** Gives up what is under way. */
  stop(): Promise<void> {
    return this.#pool.destroy();
  }
}

function named(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): Readonly<Record<string, string>> {
  const found = passedBack.flatMap((name) => {
    const value = headers[name];
    return typeof value === 'string' ? [[name, value] as const] : [];
  });
  return Object.fromEntries(found);
}

/** @throws ProblemError 502 for a redirect, a page, or another server's answer */
function checked(answer: ApiAnswer): ApiAnswer {
  const { status, headers, text } = answer;
  const isEmpty = text === '' && (status === 204 || status === 304);
  const isRedirect = status >= 300 && status < 400 && status !== 304;
  if (isEmpty || (!isRedirect && jsonType.test(headers['content-type'] ?? ''))) return answer;
  throw new ProblemError(
    502,
    `CONSOLE_API_URL leads to something that answered ${status} without JSON, so it is no API of Postrider.`,
  );
}

/** Errors before anything was sent. */
const unreachable: ReadonlySet<string> = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

function failureOf(error: Error): {
  readonly outcome: ApiOutcome;
  readonly problem: ProblemError;
} {
  const { code = '' } = error as Error & { readonly code?: string };
  // Errors of TLS are of the connection too: nothing is sent before it is trusted.
  if (
    unreachable.has(code) ||
    /^(?:ERR_TLS|ERR_SSL|CERT_|UNABLE_TO|DEPTH_ZERO|SELF_SIGNED)/.test(code)
  ) {
    const sentence =
      'Destinations cannot be changed at the moment, because the API is not reached; nothing was changed.';
    return { outcome: 'unreachable', problem: because(error, 503, sentence) };
  }
  if (error instanceof errors.ResponseExceededMaxSizeError)
    return {
      outcome: 'answered',
      problem: because(error, 502, 'The answer of the API is too long.'),
    };
  const sentence =
    'The API has not answered, so what was asked may have been done or not; look before you try again.';
  return { outcome: 'unanswered', problem: because(error, 504, sentence) };
}

/** The log shows the cause; the answer does not. */
function because(cause: Error, status: number, sentence: string): ProblemError {
  return Object.assign(new ProblemError(status, sentence), { cause });
}
