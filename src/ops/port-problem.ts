import { PostriderError } from '../errors.ts';

/**
 * What the system says of a port that cannot be listened on, as one sentence; other errors pass.
 * `setting`: the setting or option that decides the port.
 */
export function portProblem(error: unknown, setting: string, port: number): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const reason = reasons.get(code);
  if (reason === undefined) return error;
  const message = `${setting} is ${port}, ${reason}; allowed: a free port, or 0 for any`;
  return new PostriderError('setting-invalid', message, { cause: error });
}

const reasons: ReadonlyMap<unknown, string> = new Map([
  ['EADDRINUSE', 'which another process uses'],
  ['EACCES', 'which this user may not listen on'],
]);
