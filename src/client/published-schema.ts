import { createRequire } from 'node:module';
import { Agent } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import type * as confluent from '@kafkajs/confluent-schema-registry';
import { backoffMs } from './clock.ts';
import { library } from './transport.ts';
import type { RegistryOptions } from './kafka-options.ts';
import { encodeTyped, type AvroType } from './typed-call.ts';

export interface PublishedSchemaOptions extends RegistryOptions {
  readonly subject: string;
  /** Called after a failure. The request is repeated. */
  readonly onFailure: (reason: string) => void;
  readonly signal: AbortSignal;
}

/** @throws Error if the call does not fit the schema */
export type Encode = (json: string) => Buffer;

/** Time limit for one answer. The package itself never settles if an answer is cut off in its middle. */
const answerTimeoutMs = 5_000;
const wireHeaderBytes = 5;
const longestReason = 300;

/** The subject's latest schema at the time of the first request. */
export class PublishedSchema {
  readonly #options: PublishedSchemaOptions;
  readonly #registry: confluent.SchemaRegistry;
  /** Logical types that calls cannot be written in. */
  readonly #unsupported = new Set<string>();
  #asked: Promise<Encode | undefined> | undefined;

  /** @throws Error the package @kafkajs/confluent-schema-registry is not installed */
  constructor(options: PublishedSchemaOptions) {
    this.#options = options;
    const require = createRequire(import.meta.url);
    const { SchemaRegistry } = require('@kafkajs/confluent-schema-registry') as typeof confluent;
    const { url, username, password, ssl } = options;
    const typeHook = ({ logicalType }: { readonly logicalType?: string }): undefined => {
      if (logicalType !== undefined && logicalType !== 'timestamp-millis') {
        this.#unsupported.add(logicalType);
      }
    };
    this.#registry = new SchemaRegistry(
      {
        host: url.replace(/\/+$/, ''),
        clientId: library.name,
        retry: { retries: 0 },
        ...(username === undefined ? {} : { auth: { username, password: password ?? '' } }),
        ...(ssl === undefined ? {} : { agent: new Agent(ssl) }),
      },
      // All unions are wrapped, instead of only those whose branches require it.
      { AVRO: { wrapUnions: true, typeHook: typeHook as never } },
    );
  }

  /** Repeats the request as long as necessary; undefined: stopped before. */
  async encoder(): Promise<Encode | undefined> {
    this.#asked ??= this.#ask();
    return this.#asked;
  }

  async #ask(): Promise<Encode | undefined> {
    const { onFailure, signal, subject, url } = this.#options;
    for (let failures = 1; ; failures += 1) {
      try {
        return await this.#fetch();
      } catch (error) {
        if (signal.aborted) return undefined;
        const reason = reasonOf(error);
        onFailure(`no schema of ${subject} from the schema registry at ${url}: ${reason}`);
      }
      const pause = delay(backoffMs(failures, Math.random), undefined, { signal });
      if (!(await pause.then(() => true).catch(() => false))) return undefined;
    }
  }

  async #fetch(): Promise<Encode> {
    // A cached schema would not pass the hook again.
    this.#registry.cache.clear();
    this.#unsupported.clear();
    const id = await this.#inTime(this.#registry.getLatestSchemaId(this.#options.subject));
    // Without an id, the answer may be a proxy's page, for which the package would throw where the error
    // cannot be caught.
    if (!Number.isSafeInteger(id)) throw new Error('its answer is not one of a schema registry');
    const schema = await this.#inTime(this.#registry.getSchema(id));
    const type = schema as unknown as AvroType;
    if (type.typeName !== 'record') throw new Error('its latest schema is not an Avro record');
    const [unsupported] = this.#unsupported;
    if (unsupported !== undefined) {
      throw new Error(
        `its latest schema has a ${unsupported}; times are written as timestamp-millis`,
      );
    }
    const header = Buffer.alloc(wireHeaderBytes);
    header.writeUInt32BE(id, 1);
    return (json) => {
      const call = JSON.parse(json) as Readonly<Record<string, unknown>>;
      return Buffer.concat([header, encodeTyped(type, call)]);
    };
  }

  async #inTime<T>(work: Promise<T>): Promise<T> {
    const { signal } = this.#options;
    const timer = new AbortController();
    const stop = (): void => {
      timer.abort();
    };
    signal.addEventListener('abort', stop);
    const late = delay(answerTimeoutMs, undefined, { signal: timer.signal }).then(() => {
      throw new Error(`no answer in ${answerTimeoutMs / 1_000} s`);
    });
    return Promise.race([work, late]).finally(() => {
      signal.removeEventListener('abort', stop);
      timer.abort();
    });
  }
}

/** The package puts the client's name before the registry's message, and a page as an object behind it. */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message
    .replace(`${library.name} - `, '')
    .replace('Error, status 400: ', '')
    .replace(': [object Object]', '')
    .slice(0, longestReason);
}
