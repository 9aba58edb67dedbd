import type { Environment } from '../environment.ts';
import { PostriderError } from '../errors.ts';
import { almost, nearest } from '../near.ts';
import { settingsTable } from './table.ts';

const names = Object.values(settingsTable).flatMap(({ name, secret: isSecret }) =>
  isSecret === true ? [name, `${name}_FILE`] : [name],
);
/** Every variable that is a setting, or names the file of one. */
export const settingNames: ReadonlySet<string> = new Set(names);

/** Words that variables of any program begin with. */
const everybodys = new Set(['API', 'LOG', 'MAX', 'SECRET']);
/** The first words of our names; a second word decides if the first is everybody's. */
const beginnings: ReadonlySet<string> = new Set(['POSTRIDER', ...names.map(beginningOf)]);

interface Odd {
  readonly given: string;
  /** The setting that was probably meant. */
  readonly meant: string | undefined;
}

/** A sentence for each variable that is named almost like a setting, or begins like one, and is none. */
export function describeOddSettings(env: Environment): string[] {
  return oddSettings(env).map(({ given, meant }) => {
    const hint = meant === undefined ? '' : `; did you mean ${meant}?`;
    return `${given} is not a setting${hint}`;
  });
}

/**
 * The error for a setting that a command needs. It names a variable that was probably meant to be
 * this setting.
 */
export function notSet(name: string, allowed: string, env: Environment): PostriderError {
  const given = oddSettings(env).find(({ meant }) => meant === name)?.given;
  const hint = given === undefined ? '' : `; ${given} is set: did you mean ${name}?`;
  return new PostriderError('setting-invalid', `${name} is not set, allowed: ${allowed}${hint}`);
}

function oddSettings(env: Environment): Odd[] {
  return Object.entries(env).flatMap(([given, value]): Odd[] => {
    if (settingNames.has(given) || isOthers(given, value)) return [];
    if (beginsLikeOurs(given)) return [{ given, meant: nearest(given, names) }];
    const meant = almost(given, names);
    return meant === undefined ? [] : [{ given, meant }];
  });
}

function beginsLikeOurs(given: string): boolean {
  return beginnings.has(beginningOf(given));
}

function beginningOf(name: string): string {
  const [first = '', second = ''] = name.split('_');
  return everybodys.has(first) ? `${first}_${second}` : first;
}

/**
 * Says whether another program has set the variable: Kubernetes for a service, a platform for whatever
 * runs on it, or somebody for the scripts of Kafka itself.
 */
function isOthers(name: string, value: string | undefined): boolean {
  return isServiceLink(name, value) || /^(?:APP_PORT|KAFKA_(?:HOME|(?:\w+_)?OPTS))$/.test(name);
}

/**
 * Says whether Kubernetes or Docker set the variable for a service of that name, e.g.
 * KAFKA_SERVICE_HOST for `kafka`. (Kubernetes, "Service": environment variables)
 */
export function isServiceLink(name: string, value: string | undefined): boolean {
  if (/_SERVICE_(?:HOST|PORT(?:_\w+)?)$/.test(name)) return true;
  if (/_PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?$/.test(name)) return true;
  return name.endsWith('_PORT') && /^(?:tcp|udp|sctp):\/\//.test(value ?? '');
}
