import errors from '@kafkajs/confluent-schema-registry/dist/api/middleware/errorMiddleware.js';

/** An answer with a status from 400 on, or 400 where there was none. */
export interface Failure {
  readonly status: number;
  /** One sentence: the registry's, or why there is no answer. */
  readonly message: string;
}

/**
 * Makes an `api` of the package whose calls are rejected with such an answer itself. The package makes an error of
 * it, which throws outside of its promise, and so ends the process, where the body is `null` or no text can be
 * made of it. Other clients of the package in this process keep its errors.
 */
export function withoutItsErrors<Api>(makeApi: () => Api): Api {
  const its = { default: errors.default };
  Object.assign(errors, { default: () => ({}) });
  try {
    return makeApi();
  } finally {
    Object.assign(errors, its);
  }
}

const longestReason = 300;

/** Of whatever a call of the package was rejected with. */
export function failureOf(thrown: unknown): Failure {
  if (!isAnswer(thrown)) return { status: 400, message: reasonFrom(String(thrown)) };
  const status = thrown.status();
  const said = thrown.data();
  const { message } = Object(said) as { readonly message?: unknown };
  if (typeof message === 'string' && message !== '')
    return { status, message: reasonFrom(message) };
  const text = typeof said === 'string' ? said : '';
  // Without an answer, it says why.
  if (status === 400 && text !== '') return { status, message: reasonFrom(text) };
  return {
    status,
    message: reasonFrom(`Error, status ${status}${text === '' ? '' : `: ${text}`}`),
  };
}

/** As the package's own client, mappersmith, gives it. */
interface Answer {
  status(): number;
  /** Its body; parsed if it is JSON. */
  data(): unknown;
}

function isAnswer(thrown: unknown): thrown is Answer {
  return typeof (thrown as Partial<Answer> | null)?.data === 'function';
}

function reasonFrom(text: string): string {
  const reason = text.trim();
  return tlsReason(reason) ?? reason.slice(0, longestReason);
}

/**
 * The package leaves a registry's `error_code` out, so its words have to tell an unknown id or subject from a
 * wrong address: Confluent's, Karapace's and Redpanda's, and Apicurio's.
 */
export function isNotFound({ status, message }: Failure): boolean {
  const words = /^(?:no )?(?:schema|subject|version|content|artifact)\b.* found\b/i;
  return status === 404 && words.test(message);
}

/** What OpenSSL and Node say of certificates helps only who knows them. */
function tlsReason(reason: string): string | undefined {
  if (/^(?:unable to (?:verify|get)|self-signed certificate)/.test(reason)) {
    return 'its certificate is of an authority that is not known here; name a file with it in SCHEMA_REGISTRY_SSL_CA_FILE';
  }
  if (/SSL routines.*alert.*(?:certificate|unknown ca|handshake)/s.test(reason)) {
    return 'it wants a client certificate of an authority that it trusts; see SCHEMA_REGISTRY_SSL_CERT_FILE';
  }
  return undefined;
}
