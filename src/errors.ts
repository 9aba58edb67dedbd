export type ErrorCode =
  | 'usage'
  | 'setting-invalid'
  | 'resource-invalid'
  | 'input-invalid'
  | 'not-found'
  | 'secret-unreadable'
  | 'topics-differ'
  | 'resources-differ'
  | 'broker-unavailable'
  | 'record-refused'
  | 'part-missing'
  | 'unwritable'
  | 'accounts-differ'
  | 'not-delivered'
  | 'kafka-unavailable'
  | 'kafka-refused'
  | 'busy'
  | 'database-unavailable'
  | 'registry-unavailable'
  | 'schema-incompatible'
  | 'fenced'
  | 'stopped';

/**
 * Every intentional error. `retry`: the same operation may succeed later. The others end the operation,
 * because a person has to fix their cause.
 */
const table: Readonly<Record<ErrorCode, { readonly retry: boolean; readonly exitCode: number }>> = {
  usage: { retry: false, exitCode: 2 },
  'setting-invalid': { retry: false, exitCode: 1 },
  'resource-invalid': { retry: false, exitCode: 1 },
  'input-invalid': { retry: false, exitCode: 1 },
  'not-found': { retry: false, exitCode: 1 },
  'secret-unreadable': { retry: false, exitCode: 1 },
  'topics-differ': { retry: false, exitCode: 1 },
  'resources-differ': { retry: false, exitCode: 3 },
  'broker-unavailable': { retry: false, exitCode: 1 },
  'record-refused': { retry: false, exitCode: 1 },
  'part-missing': { retry: false, exitCode: 1 },
  unwritable: { retry: true, exitCode: 1 },
  'accounts-differ': { retry: false, exitCode: 1 },
  'not-delivered': { retry: false, exitCode: 1 },
  'kafka-unavailable': { retry: true, exitCode: 1 },
  'kafka-refused': { retry: false, exitCode: 1 },
  busy: { retry: true, exitCode: 1 },
  'database-unavailable': { retry: true, exitCode: 1 },
  'registry-unavailable': { retry: true, exitCode: 1 },
  'schema-incompatible': { retry: false, exitCode: 1 },
  fenced: { retry: false, exitCode: 1 },
  stopped: { retry: false, exitCode: 1 },
};

/** An error whose message is one sentence for people: what was wrong, where, what is allowed. */
export class PostriderError extends Error {
  override readonly name = 'PostriderError';
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  get retry(): boolean {
    return table[this.code].retry;
  }

  get exitCode(): number {
    return table[this.code].exitCode;
  }
}

/** Turns what was thrown into an error: libraries may throw anything. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
