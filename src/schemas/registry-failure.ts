import errors from '@kafkajs/confluent-schema-registry/dist/api/middleware/errorMiddleware.js';

/** An answer with a status from 400 on, or 400 where there was none. */
export interface Failure {
  readonly status: number;
  /** One sentence: the registry's, or why there is no answer. */
  readonly message: string;
}

/**
 * Makes an `api` of the package whose calls are rejected with the answer itself. The package turns an answer
 * into an error, and throws outside of its promise, which ends the process, if the body is `null` or cannot
 * be converted to text. Other users of the package in this process keep its errors.
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

/** The failure of a rejected call of the package. */
export function failureOf(thrown: unknown): Failure {
  if (!isAnswer(thrown)) return { status: 400, message: reasonFrom(String(thrown)) };
  const status = thrown.status();
  const said = thrown.data();
  const { message } = Object(said) as { readonly message?: unknown };
  if (typeof message === 'string' && message !== '')
    return { status, message: reasonFrom(message) };
  const text = typeof said === 'string' ? said : '';
  // Without an answer, the text explains why.
  if (status === 400 && text !== '') return { status, message: reasonFrom(text) };
  return {
    status,
    message: reasonFrom(`Error, status ${status}${text === '' ? '' : `: ${text}`}`),
  };
}

/** In the format of mappersmith, the package's own client. */
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
 * The package drops a registry's `error_code`, so the message has to distinguish an unknown id or subject
 * from a wrong address: those of Confluent, Karapace, Redpanda and Apicurio.
 */
export function isNotFound({ status, message }: Failure): boolean {
  const words = /^(?:no )?(?:schema|subject|version|content|artifact)\b.* found\b/i;
  return status === 404 && words.test(message);
}

/** Explains the certificate errors of OpenSSL and Node. */
function tlsReason(reason: string): string | undefined {
  if (/^(?:unable to (?:verify|get)|self-signed certificate)/.test(reason)) {
    return 'its certificate is of an authority that this machine does not trust; set SCHEMA_REGISTRY_SSL_CA_FILE to a file with the certificate of that authority';
  }
  if (/SSL routines.*alert.*(?:certificate|unknown ca|handshake)/s.test(reason)) {
    return 'it requires a client certificate of an authority that it trusts; see SCHEMA_REGISTRY_SSL_CERT_FILE';
  }
  return undefined;
}
