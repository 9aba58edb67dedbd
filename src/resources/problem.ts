import { PostriderError } from '../errors.ts';

/** A problem at one place of a resource file. */
export interface Problem {
  readonly file: string;
  /** From 1; missing where the whole file is meant. */
  readonly line?: number;
  /** The path in the resource, for example `webhooks[0].url`; empty for the resource itself. */
  readonly path: string;
  /** The same path, key by key. */
  readonly at?: readonly PropertyKey[];
  /** The problem and what is allowed, to be read after the path. Never holds a secret. */
  readonly reason: string;
}

/** `crm.yaml:9: webhooks[0].url: must start with http:// or https://` */
export function formatProblem({ file, line, path, reason }: Problem): string {
  const place = line === undefined ? file : `${file}:${line}`;
  return path === '' ? `${place}: ${reason}` : `${place}: ${path}: ${reason}`;
}

/** `['webhooks', 0, 'url']` as `webhooks[0].url`. */
export function formatPath(path: readonly PropertyKey[]): string {
  return path
    .map((key, index) =>
      typeof key === 'number' ? `[${key}]` : `${index === 0 ? '' : '.'}${String(key)}`,
    )
    .join('');
}

/** Resource files that cannot be applied, with all their problems, one line each. */
export class InvalidResources extends PostriderError {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    const ordered = inReadingOrder(problems);
    super('resource-invalid', ordered.map(formatProblem).join('\n'));
    this.problems = ordered;
  }
}

/** Files as they were given, each from top to bottom. */
function inReadingOrder(problems: readonly Problem[]): readonly Problem[] {
  const files = [...new Set(problems.map(({ file }) => file))];
  return problems.toSorted(
    (a, b) => files.indexOf(a.file) - files.indexOf(b.file) || (a.line ?? 0) - (b.line ?? 0),
  );
}
