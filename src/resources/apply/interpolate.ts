/** Variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What `${NAME}` may stand for. */
export interface Variables {
  readonly environment: Environment;
  /** Names of the settings, which no file may use: whoever writes it would get what belongs to the deployment. */
  readonly settings: ReadonlySet<string>;
}

/** Every reference is refused. */
export const noVariables: Variables = { environment: {}, settings: new Set() };

/** What platforms, their command lines and CI systems put into the environment, credentials among them. */
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
export function interpolate(masked: string, { environment, settings }: Variables): Interpolated {
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
      else if (/[\r\n]$/.test(environment[name]))
        reasons.push(`the environment variable ${name} ends in a line break; remove that`);
      else {
        isFromVariable = true;
        return environment[name];
      }
      return match;
    });
  }
}
