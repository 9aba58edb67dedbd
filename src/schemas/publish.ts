import { PostriderError } from '../errors.ts';
import ingestValue from './ingest-value.json' with { type: 'json' };
import type { Compatibility, RegistryClient } from './registry-client.ts';

/** New readers must read what old producers write, because routers are deployed before producers change. */
const level = 'BACKWARD';

/** The schema that producers of typed calls may use. */
export const ingestSchema: string = JSON.stringify(ingestValue);

/** The registry's usual name for the values of a topic. */
export function ingestSubject(ingestTopic: string): string {
  return `${ingestTopic}-value`;
}

type Registry = Pick<
  RegistryClient,
  'compatibilityWithLatest' | 'levelOf' | 'setLevel' | 'register'
>;

/**
 * The rules that `schema` would break in the subject. Undefined: no such subject, or no right to
 * see it; registries give the same answer.
 */
export async function checkSchema(
  registry: Registry,
  subject: string,
  schema: string = ingestSchema,
): Promise<Compatibility | undefined> {
  try {
    return await registry.compatibilityWithLatest(subject, schema);
  } catch (error) {
    if (!(error instanceof PostriderError) || error.code !== 'not-found') throw error;
    return undefined;
  }
}

export interface Registered {
  readonly id: number;
  /** No version was visible before: either there was none, or the right to see it is missing. */
  readonly unseenBefore: boolean;
}

/**
 * Makes the schema the subject's latest version. The subject's level is set first, so that the first change
 * is checked too; a level that was set before stays.
 * @throws PostriderError `schema-incompatible`
 */
export async function registerSchema(
  registry: Registry,
  subject: string,
  schema: string = ingestSchema,
): Promise<Registered> {
  if ((await registry.levelOf(subject)) === undefined) await registry.setLevel(subject, level);
  const seen = await checkSchema(registry, subject, schema);
  if (seen?.compatible === false) throw incompatible(subject, seen.messages);
  const id = await registry.register(subject, schema);
  return { id, unseenBefore: seen === undefined };
}

export function incompatible(subject: string, messages: readonly string[]): PostriderError {
  const what =
    messages.length === 0 ? 'the registry does not say what breaks' : messages.join('; ');
  const message = `The schema is not compatible with the latest version of ${subject}: ${what}`;
  return new PostriderError('schema-incompatible', message);
}
