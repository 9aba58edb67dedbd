import { Agent } from 'node:https';
import api from '@kafkajs/confluent-schema-registry/dist/api/index.js';
import { PostriderError } from '../errors.ts';
import { failureOf, isNotFound, withoutItsErrors, type Failure } from './registry-failure.ts';
import type { ReferencedSchema, RegisteredSchema } from './registered-schema.ts';

export interface RegistryAccess {
  /** May have a path. */
  readonly url: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** PEM, for an https URL; without `ca`, the public authorities are believed. */
  readonly tls?:
    { readonly ca?: Buffer; readonly cert?: Buffer; readonly key?: Buffer } | undefined;
}

/** The registry's verdict on a schema that would become a subject's next version. */
export interface Compatibility {
  readonly compatible: boolean;
  /** The broken rules, in the registry's own words. */
  readonly messages: readonly string[];
}

const requestTimeoutMs = 5_000;
/** Karapace's; others answer that there is no such path. */
const healthPath = '/_health';

type Body = Readonly<Record<string, unknown>>;
type Api = ReturnType<typeof api.default>;
type Method = Api['Schema']['find'];
type Params = Readonly<Record<string, string | number | boolean | object>>;

type Answer =
  | { readonly body: Body; readonly failure?: undefined }
  | { readonly body?: undefined; readonly failure: Failure };

/**
 * The HTTP API that registries share, over `@kafkajs/confluent-schema-registry`. Every method throws
 * `registry-unavailable` for whatever may be otherwise the next time: no answer in 5 s, a refused
 * password, an answer that is none of a registry.
 */
export class RegistryClient {
  readonly #url: string;
  readonly #timeoutMs: number;
  readonly #access: () => RegistryAccess;
  #made: { readonly access: RegistryAccess; readonly api: Api } | undefined;

  /** @param access asked for each request; another object means other certificates or another password */
  constructor(
    access: RegistryAccess | (() => RegistryAccess),
    timeoutMs: number = requestTimeoutMs,
  ) {
    this.#access = typeof access === 'function' ? access : () => access;
    this.#url = this.#access().url.replace(/\/+$/, '');
    this.#timeoutMs = timeoutMs;
  }

  get #api(): Api {
    const access = this.#access();
    // What is asked over a former one's connections comes to its end there.
    if (this.#made?.access !== access) this.#made = { access, api: this.#make(access) };
    return this.#made.api;
  }

  #make({ username, password = '', tls }: RegistryAccess): Api {
    return withoutItsErrors(() =>
      api.default({
        host: this.#url,
        clientId: 'postrider',
        // Whoever asks knows better when to ask again.
        retry: { retries: 0 },
        ...(username === undefined ? {} : { auth: { username, password } }),
        ...(tls === undefined ? {} : { agent: new Agent({ ...tls, keepAlive: true }) }),
      }),
    );
  }

  /**
   * The schema with everything that it refers to.
   * @throws PostriderError `not-found` for an unknown id
   */
  async schemaOf(id: number): Promise<RegisteredSchema> {
    const body = await this.#ask(this.#api.Schema.find, { id });
    const references: ReferencedSchema[] = [];
    await this.#collect(body['references'], references, new Set());
    const { schemaType: type = 'AVRO', schema } = body;
    if (typeof type !== 'string' || typeof schema !== 'string') {
      throw this.#unavailable(`its answer for schema ${id} is not one of a schema registry`);
    }
    return { type, schema, references };
  }

  /**
   * Says whether the registry shows that it has read all that was registered: one that has just
   * started says "not found" until then.
   * @param knownId a schema that it once gave
   * @throws PostriderError `registry-unavailable` also if it says itself that it is not ready
   */
  async isAwake(knownId: number | undefined): Promise<boolean> {
    const health = await this.#request(this.#api.Schema.find, { path: healthPath });
    const ready = objectOf(health.body?.['status'])['schema_registry_ready'];
    if (ready === false) throw this.#unavailable('it is still reading what was registered');
    if (ready === true) return true;
    const isIll = health.failure !== undefined && health.failure.status >= 500;
    if (isIll || knownId === undefined) return false;
    const known = await this.#request(this.#api.Schema.find, { id: knownId });
    return typeof known.body?.['schema'] === 'string';
  }

  /** @throws PostriderError `not-found`: no such subject, or no right to see it; registries do not tell which */
  async compatibilityWithLatest(subject: string, schema: string): Promise<Compatibility> {
    const asked = { subject, verbose: true, body: { schema } };
    const body = await this.#ask(this.#api.Subject.compatible, asked);
    const messages = Array.isArray(body['messages']) ? body['messages'].map(String) : [];
    return { compatible: body['is_compatible'] === true, messages };
  }

  /** The level of the subject itself; undefined if the registry's default applies. */
  async levelOf(subject: string): Promise<string | undefined> {
    const { body, failure } = await this.#request(this.#api.Subject.config, { subject });
    if (failure?.status === 404) return undefined;
    if (failure !== undefined) throw this.#unavailable(failure.message);
    return String(body['compatibilityLevel']);
  }

  async setLevel(subject: string, compatibility: string): Promise<void> {
    await this.#ask(this.#api.Subject.updateConfig, { subject, body: { compatibility } });
  }

  /**
   * The schema's id, the same one if it is there already.
   * @throws PostriderError `schema-incompatible` with what breaks
   */
  async register(subject: string, schema: string): Promise<number> {
    const asked = { subject, body: { schema } };
    const { body, failure } = await this.#request(this.#api.Subject.register, asked);
    if (failure?.status === 409) throw new PostriderError('schema-incompatible', failure.message);
    if (failure !== undefined) throw this.#unavailable(failure.message);
    return Number(body['id']);
  }

  async #collect(given: unknown, into: ReferencedSchema[], seen: Set<string>): Promise<void> {
    for (const reference of Array.isArray(given) ? (given as unknown[]) : []) {
      const { name, subject, version } = objectOf(reference);
      const place = `${String(subject)}/${String(version)}`;
      if (seen.has(place)) continue;
      seen.add(place);
      // Who deletes a subject first deletes what refers to it, but records may have the id of that all the same.
      const asked = { subject: String(subject), version: String(version), deleted: true };
      const { body, failure } = await this.#request(this.#api.Subject.version, asked);
      // Also for a 404: what refers to it is registered, so it is there as soon as the registry is whole.
      if (typeof body?.['schema'] !== 'string') {
        const why = failure === undefined ? '' : `: ${failure.message}`;
        throw this.#unavailable(
          `its answer for the reference "${String(name)}" is no schema${why}`,
        );
      }
      await this.#collect(body['references'], into, seen);
      into.push({ name: String(name), schema: body['schema'] });
    }
  }

  async #ask(method: Method, params: Params): Promise<Body> {
    const { body, failure } = await this.#request(method, params);
    if (failure === undefined) return body;
    if (isNotFound(failure)) {
      throw new PostriderError('not-found', `The schema registry says: ${failure.message}`);
    }
    throw this.#unavailable(failure.message);
  }

  /** The package never settles where an answer is cut off in its middle, whatever time-out it is given. */
  async #request(method: Method, params: Params): Promise<Answer> {
    const deadline = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        reject(this.#unavailable(`no answer in ${this.#timeoutMs / 1_000} s`));
        deadline.abort();
      }, this.#timeoutMs);
    });
    try {
      const response = await Promise.race([method({ ...params, signal: deadline.signal }), late]);
      return { body: objectOf(response.data()) };
    } catch (error) {
      if (error instanceof PostriderError) throw error;
      return { failure: failureOf(error) };
    } finally {
      clearTimeout(timer);
    }
  }

  #unavailable(reason: string): PostriderError {
    const message = `The schema registry at ${this.#url} cannot be used: ${reason}`;
    return new PostriderError('registry-unavailable', message);
  }
}

function objectOf(value: unknown): Body {
  return typeof value === 'object' && value !== null ? (value as Body) : {};
}
