import { mapSecrets } from '../config/resource-secrets.ts';
import type { Resource } from '../resource.ts';
import { formatPath } from '../problem.ts';
import type { Issue } from '../schema/schema-parts.ts';
import { interpolate, unmaskReferences, type Variables } from './interpolate.ts';

/** A text of a resource that a variable's value is part of. */
export interface VariableText {
  readonly path: readonly PropertyKey[];
  /** As it stands in the file. */
  readonly written: string;
}

export interface Settled {
  readonly value: unknown;
  readonly fromVariables: readonly VariableText[];
  readonly issues: readonly Issue[];
}

/**
 * A parsed value of a masked file, with variables put in. Aliases have been followed before, so that a variable is
 * known in every field that it gets into.
 */
export function putVariables(masked: unknown, variables: Variables): Settled {
  const fromVariables: VariableText[] = [];
  const issues: Issue[] = [];
  return { value: settle(masked, []), fromVariables, issues };

  function settle(value: unknown, path: readonly PropertyKey[]): unknown {
    if (typeof value === 'string') return value.includes('$') ? settleText(value, path) : value;
    if (typeof value !== 'object' || value === null) return value;
    // An alias makes two fields one object, so nothing is changed in place.
    if (Array.isArray(value)) return value.map((item, index) => settle(item, [...path, index]));
    return Object.fromEntries(
      Object.entries(value).map(([key, field]) => [key, settle(field, [...path, key])]),
    );
  }

  function settleText(text: string, path: readonly PropertyKey[]): string {
    const settled = interpolate(text, variables);
    issues.push(...settled.reasons.map((reason) => ({ path, reason })));
    if (settled.isFromVariable) fromVariables.push({ path, written: unmaskReferences(text) });
    return settled.text;
  }
}

const notSecret =
  'must not come from a variable, because everybody who reads the configuration sees it; ${NAME} may stand in shared secrets, header values, database URLs, the URLs of notice hooks, and those of webhooks with secretUrl: true';
const inHost =
  'must not have a variable in its host, which is shown; ${NAME} may be the whole URL, or stand behind the host';

/** Variables in fields that are shown, in `get`, differences, the console and errors. */
export function misplacedVariables(
  resource: Resource,
  fromVariables: readonly VariableText[],
): readonly Issue[] {
  const secretFields = new Map<string, boolean>();
  mapSecrets(resource, (secret, { path, boundTo: [what] }) => {
    secretFields.set(path, what === 'url' || what === 'postgres');
    return secret;
  });
  return fromVariables.flatMap(({ path, written }): Issue[] => {
    const isUrl = secretFields.get(formatPath(path));
    if (isUrl === undefined) return [{ path, reason: notSecret }];
    return isUrl && !knowsItsHost.test(written) ? [{ path, reason: inHost }] : [];
  });
}

/** The host is written in the file, or comes with all before it from one variable. */
const knowsItsHost = /^(?:\$\{[^{}]*\}|[a-z]+:\/\/(?:[^/?#@]*@)?[^/?#@{}]+)(?:[/?].*)?$/is;
