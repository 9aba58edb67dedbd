import { PostriderError } from '../errors.ts';
import { schemaTypes, type ReferencedSchema, type RegisteredSchema } from './registered-schema.ts';

export interface RegistryAccess {
  /** May have a path. */
  readonly url: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
}

/** The registry's verdict on a schema that would become a subject's next version. */
export interface Compatibility {
  readonly compatible: boolean;
  /** What breaks, in the registry's own words. */
  readonly messages: readonly string[];
}

const requestTimeoutMs = 5_000;
const contentType = 'application/vnd.schemaregistry.v1+json';
/** A registry's own codes, which tell an unknown id from a wrong address. */
const notFoundCodes: ReadonlySet<unknown> = new Set([40401, 40402, 40403, 40408]);

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/**
 * The HTTP API that registries share. Every method throws `registry-unavailable` for whatever may be
 * otherwise the next time: no answer in 5 s, a refused password, an answer that is none of a registry.
 */
export class RegistryClient {
  readonly #base: string;
  readonly #authorization: string | undefined;

  constructor({ url, username, password }: RegistryAccess) {
    this.#base = url.replace(/\/+$/, '');
    const pair = `${username ?? ''}:${password ?? ''}`;
    this.#authorization =
      username === undefined ? undefined : `Basic ${Buffer.from(pair).toString('base64')}`;
  }

  /**
   * With what it refers to, and so on.
   * @throws PostriderError `not-found` for an id that the registry does not know
   */
  async schemaOf(id: number): Promise<RegisteredSchema> {
    const { body } = await this.#ask('GET', `/schemas/ids/${id}`);
    const references: ReferencedSchema[] = [];
    await this.#collect(body['references'], references, new Set());
    const type = schemaTypes.find((each) => each === (body['schemaType'] ?? 'AVRO'));
    if (type === undefined || typeof body['schema'] !== 'string') {
      throw this.#unavailable(`its answer for schema ${id} is not one of a schema registry`);
    }
    return { type, schema: body['schema'], references };
  }

  /** @throws PostriderError `not-found` where the subject has no version yet */
  async compatibilityWithLatest(subject: string, schema: string): Promise<Compatibility> {
    const path = `/compatibility/subjects/${encodeURIComponent(subject)}/versions/latest?verbose=true`;
    const { body } = await this.#ask('POST', path, { schema });
    const messages = Array.isArray(body['messages']) ? body['messages'].map(String) : [];
    return { compatible: body['is_compatible'] === true, messages };
  }

  /** Of the subject itself; undefined where the registry's default holds. */
  async levelOf(subject: string): Promise<string | undefined> {
    const { status, body } = await this.#request('GET', `/config/${encodeURIComponent(subject)}`);
    if (status === 404) return undefined;
    if (status !== 200) throw this.#unavailable(describe(status, body));
    return String(body['compatibilityLevel']);
  }

  async setLevel(subject: string, compatibility: string): Promise<void> {
    await this.#ask('PUT', `/config/${encodeURIComponent(subject)}`, { compatibility });
  }

  /**
   * The schema's id, the same one if it is there already.
   * @throws PostriderError `schema-incompatible` with what breaks
   */
  async register(subject: string, schema: string): Promise<number> {
    const path = `/subjects/${encodeURIComponent(subject)}/versions`;
    const { status, body } = await this.#request('POST', path, { schema });
    if (status === 409) throw new PostriderError('schema-incompatible', String(body['message']));
    if (status !== 200) throw this.#unavailable(describe(status, body));
    return Number(body['id']);
  }

  async #collect(given: unknown, into: ReferencedSchema[], seen: Set<string>): Promise<void> {
    for (const reference of Array.isArray(given) ? (given as unknown[]) : []) {
      const { name, subject, version } = reference as Readonly<Record<string, unknown>>;
      const path = `/subjects/${encodeURIComponent(String(subject))}/versions/${String(version)}`;
      if (seen.has(path)) continue;
      seen.add(path);
      const { status, body } = await this.#request('GET', path);
      // Also for a 404: what refers to it is registered, so it is there as soon as the registry is whole.
      if (status !== 200 || typeof body['schema'] !== 'string') {
        const what = `its answer for the reference "${String(name)}" is no schema`;
        throw this.#unavailable(`${what}: ${describe(status, body)}`);
      }
      await this.#collect(body['references'], into, seen);
      into.push({ name: String(name), schema: body['schema'] });
    }
  }

  async #ask(method: string, path: string, sent?: object): Promise<Answer> {
    const answer = await this.#request(method, path, sent);
    const { status, body } = answer;
    if (status === 404 && notFoundCodes.has(body['error_code'])) {
      throw new PostriderError('not-found', `The schema registry says: ${describe(status, body)}.`);
    }
    if (status !== 200) throw this.#unavailable(describe(status, body));
    return answer;
  }

  async #request(method: string, path: string, sent?: object): Promise<Answer> {
    const headers: Record<string, string> = { Accept: `${contentType}, application/json` };
    if (sent !== undefined) headers['Content-Type'] = contentType;
    if (this.#authorization !== undefined) headers['Authorization'] = this.#authorization;
    try {
      const response = await fetch(this.#base + path, {
        method,
        headers,
        ...(sent === undefined ? {} : { body: JSON.stringify(sent) }),
        signal: AbortSignal.timeout(requestTimeoutMs),
      });
      const body: unknown = await response.json().catch(() => undefined);
      const isObject = typeof body === 'object' && body !== null;
      return { status: response.status, body: isObject ? (body as Answer['body']) : {} };
    } catch (cause) {
      throw this.#unavailable(reasonOf(cause), cause);
    }
  }

  #unavailable(reason: string, cause?: unknown): PostriderError {
    const message = `The schema registry at ${this.#base} cannot be used: ${reason}`;
    return new PostriderError('registry-unavailable', message, { cause });
  }
}

function describe(status: number, body: Answer['body']): string {
  const { message } = body;
  const code = typeof body['error_code'] === 'number' ? body['error_code'] : status;
  return typeof message === 'string' ? `${message} (${code})` : `it answers ${status}`;
}

/** fetch hides the reason in the cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return `no answer in ${requestTimeoutMs / 1_000} s`;
  const { cause } = error as { cause?: { code?: string; message?: string } };
  return cause?.code ?? cause?.message ?? error.message;
}
