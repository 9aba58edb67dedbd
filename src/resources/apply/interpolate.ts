import { mapSecrets } from '../config/resource-secrets.ts';
import { formatPath } from '../problem.ts';
import type { Resource } from '../resource.ts';
import type { Issue } from '../schema/schema-parts.ts';

/** Variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The values that `${NAME}` may stand for. */
export interface Variables {
  readonly environment: Environment;
  /** Names of the settings, which no file may use: whoever writes it would get what belongs to the deployment. */
  readonly settings: ReadonlySet<string>;
}

/** Every reference is refused. */
export const noVariables: Variables = { environment: {}, settings: new Set() };

/**
 * Names that platforms, their command lines and CI systems put into the environment, credentials
 * among them.
 */
const platformNames =
  /^(?:AWS|AMAZON|AZURE|ARM|GOOGLE|GCP|GCLOUD|CLOUDSDK|KUBERNETES|KUBE|KAFKA|VAULT|DOCKER|NODE|NPM|CI|GITHUB|GITLAB|ACTIONS|RUNNER|SSH|POSTRIDER)_|^(?:PG[A-Z]+|KUBECONFIG|.*_PROXY)$/i;

/*
 * `{` and `}` have a meaning in YAML's flow style: `{ X-Token: ${TOKEN} }` is not valid YAML. They are
 * replaced by two noncharacters of the same length before parsing, so that lines and columns stay. Values are
 * substituted after parsing, so that no value can change the structure.
 */
const open = '\uFDD0';
const close = '\uFDD1';

/** Makes the references of a whole file safe for the YAML or JSON parser. */
export function maskReferences(text: string): string {
  return text.replace(/\$\{([^{}\n]*)\}/g, `$${open}$1${close}`);
}

/** Restores masked references to their original text. */
export function unmaskReferences(text: string): string {
  return text.replaceAll(open, '{').replaceAll(close, '}');
}

const reference = new RegExp(
  `\\$\\$[${open}{]|\\$${open}([^${open}${close}]*)${close}|\\$[${open}{]`,
  'g',
);

/** Shell style without braces, alone or behind a word such as `Bearer`: probably a mistake. */
const withoutBraces = /^(?:\S+ )?\$([A-Z_][A-Z0-9_]*)$/;

interface Interpolated {
  readonly text: string;
  readonly reasons: readonly string[];
  /** A variable's value is part of it. */
  readonly isFromVariable: boolean;
}

/**
 * Substitutes variables in one parsed text of a masked file: `${NAME}` becomes the variable's value, `$${` a
 * plain `${`. `reasons` lists every reference that cannot be resolved, because its variable is not set, or
 * empty, or not for resource files.
 */
function interpolate(masked: string, { environment, settings }: Variables): Interpolated {
  const reasons: string[] = [];
  let isFromVariable = false;
  const bare = withoutBraces.exec(masked)?.[1];
  if (bare !== undefined)
    reasons.push(
      `$${bare} is not replaced by a value; write \${${bare}} for the value of the variable`,
    );
  const text = masked.split(reference).length === 1 ? masked : replaceReferences();
  return { text: unmaskReferences(text), reasons, isFromVariable };

  function replaceReferences(): string {
    return masked.replace(reference, (match, name: string | undefined) => {
      if (match.startsWith('$$')) return '${';
      if (name === undefined) reasons.push('${ has no closing }; write $${ for the text itself');
      else if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
        reasons.push(
          `\${${name}} is not the name of an environment variable; write $\${ for the text itself`,
        );
      else if (settings.has(name))
        reasons.push(`\${${name}} is not for resource files: it is a setting of Postrider`);
      else if (platformNames.test(name))
        reasons.push(
          `\${${name}} is not for resource files: variables of such names belong to the platform; give the value under another name`,
        );
      else if (environment[name] === undefined)
        reasons.push(`the environment variable ${name} is not set`);
      // Almost always a secret that did not arrive; taken as it is, it would turn signing off.
      else if (environment[name] === '')
        reasons.push(`the environment variable ${name} is empty; leave the field out for no value`);
      // A secret's file or an env file ends in one; signed with it, every signature would be wrong.
      else if (endsInBreak(environment[name]))
        reasons.push(`the environment variable ${name} ends in a line break; remove that`);
      else {
        isFromVariable = true;
        return environment[name];
      }
      return match;
    });
  }
}

/** A text of a resource that a variable's value is part of. */
export interface VariableText {
  readonly path: readonly PropertyKey[];
  /** The text as it stands in the file. */
  readonly written: string;
}

interface Settled {
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

/** A text in PEM ends in one by rule, and means the same with it. */
function endsInBreak(value: string): boolean {
  return /[\r\n]$/.test(value) && !/-----END [A-Z0-9 ]+-----\s+$/.test(value);
}

const notSecret =
  'must not come from a variable, because everybody who reads the configuration sees it; ${NAME} may stand in shared secrets, header values, client secrets, client certificates, database URLs, the URLs of notice hooks, and those of webhooks with secretUrl: true';
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
    // It is no secret, and comes from where its key does.
    if (path.at(-2) === 'clientCertificate' && path.at(-1) === 'certificate') return [];
    const isUrl = secretFields.get(formatPath(path));
    if (isUrl === undefined) return [{ path, reason: notSecret }];
    return isUrl && !knowsItsHost.test(written) ? [{ path, reason: inHost }] : [];
  });
}

/** The host is written in the file, or comes with all before it from one variable. */
const knowsItsHost = /^(?:\$\{[^{}]*\}|[a-z]+:\/\/(?:[^/?#@]*@)?[^/?#@{}]+)(?:[/?].*)?$/is;
