import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import * as https from 'node:https';
import type { AddressInfo } from 'node:net';
import type { RegistryAccess } from '../../src/schemas/registry-client.ts';
import { breaksOf } from './schema-compatibility.ts';

/** A registry whose faults a test chooses. */
export interface FaultyRegistry {
  readonly url: string;
  /** Requests so far, as `GET /schemas/ids/1`. */
  readonly requests: readonly string[];
  /** Answers all requests with this status until it is undefined. */
  failWith(status: number | undefined): void;
  /** Answers requests for this path with 200 and a page, as a proxy before it may, until it is undefined. */
  hide(path: string | undefined): void;
  /** It can still be asked for by who knows that it is deleted. */
  deleteSubject(subject: string): void;
  /** Answers that it does not know these ids, as one that has just started; none: it knows all again. */
  forget(...ids: readonly number[]): void;
  /** What its health says of having read all schemas; undefined: it has no such path. */
  ready(says: boolean | undefined): void;
  /** Cuts the answer for this path off in its middle, until it is undefined. */
  cut(path: string | undefined): void;
  /** Only requests with these are answered. */
  require(username: string, password: string): void;
  stop(): Promise<void>;
}

/**
 * A stand-in for a schema registry, because no package registry has a server: ids, versions and levels
 * as real ones have them, compatibility that is truly enforced, and the codes and texts of a real one.
 */
export interface TestRegistry extends FaultyRegistry {
  /** Registers whatever it is, as another team's producer does; returns its id. */
  add(schema: string, type?: string, references?: readonly object[]): Promise<number>;
}

interface Version {
  readonly id: number;
  readonly type: string;
  readonly schema: string;
  readonly references: readonly object[];
}

interface Answer {
  readonly status: number;
  readonly body: object;
}

/** With `tls` it speaks HTTPS. */
export async function startRegistry(tls?: https.ServerOptions): Promise<TestRegistry> {
  const store = new Store();
  let added = 0;
  const registry = await startFaulty(({ method, path, text }) => {
    const sent = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
    const parts = path.replace(/\?.*/, '').split('/').slice(1);
    return Promise.resolve(store.answer(method, parts.map(decodeURIComponent), sent));
  }, tls);
  return {
    ...registry,
    add: (schema, type = 'AVRO', references = []) => {
      added += 1;
      return Promise.resolve(store.add(`added-${added}`, { schema, type, references }));
    },
  };
}

/** A registry that a whole run is given; undefined where it is given none. */
export function givenRegistry(): RegistryAccess | undefined {
  const url = process.env['SCHEMA_REGISTRY_URL'] ?? '';
  if (url === '') return undefined;
  const username = process.env['SCHEMA_REGISTRY_USERNAME'];
  return { url, username, password: process.env['SCHEMA_REGISTRY_PASSWORD'] };
}

/** Before the registry that the run is given, or the stand-in: the rest of what it answers is theirs. */
export function startFaultyRegistry(): Promise<FaultyRegistry> {
  const given = givenRegistry();
  return given === undefined ? startRegistry() : startFaulty((asked) => forward(given, asked));
}

interface Asked {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly text: string;
}

async function forward(to: RegistryAccess, { method, path, text }: Asked): Promise<Answer> {
  const headers: Record<string, string> = {
    'Content-Type': 'application/vnd.schemaregistry.v1+json',
  };
  if (to.username !== undefined) headers['Authorization'] = basic(to.username, to.password ?? '');
  const body = text === '' ? null : text;
  try {
    const response = await fetch(to.url.replace(/\/+$/, '') + path, { method, headers, body });
    return { status: response.status, body: (await response.json()) as object };
  } catch (cause) {
    return error(502, 50201, `${to.url} does not answer: ${String(cause)}`);
  }
}

async function startFaulty(
  answerOf: (asked: Asked) => Promise<Answer>,
  tls?: https.ServerOptions,
): Promise<FaultyRegistry> {
  const requests: string[] = [];
  let failure: number | undefined;
  let hidden: string | undefined;
  let deleted: string | undefined;
  let cut: string | undefined;
  let authorization: string | undefined;
  let forgotten: readonly number[] = [];
  let health: Answer | undefined;

  const answer = async (request: IncomingMessage, text: string): Promise<Answer> => {
    const path = pathOf(request);
    requests.push(`${request.method ?? ''} ${path}`);
    if (failure !== undefined) return error(failure, failure * 100 + 1, 'It does not work today');
    if (authorization !== undefined && request.headers.authorization !== authorization) {
      return error(401, 40101, 'Unauthorized');
    }
    if (path === '/_health' && health !== undefined) return health;
    const isDeleted = deleted !== undefined && path.startsWith(`/subjects/${deleted}/`);
    if (isDeleted && !(request.url ?? '').includes('deleted=true')) return noSubject(deleted ?? '');
    if (forgotten.some((id) => path === `/schemas/ids/${id}`)) return unknownSchema;
    return answerOf({ method: request.method ?? '', path: request.url ?? '', text });
  };
  const respond = (request: IncomingMessage, response: ServerResponse): void => {
    void readAll(request).then(async (text) => {
      const answered = await answer(request, text);
      if (pathOf(request) === hidden) response.end('<html>Please come back later</html>');
      else if (pathOf(request) === cut) sendHalf(response, answered);
      else send(response, answered);
    });
  };
  const server = tls === undefined ? createServer(respond) : https.createServer(tls, respond);
  await listen(server);
  const { port } = server.address() as AddressInfo;
  const url = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`;
  return {
    url,
    requests,
    failWith: (status) => {
      failure = status;
    },
    deleteSubject: (subject) => {
      deleted = subject;
    },
    hide: (path) => {
      hidden = path;
    },
    cut: (path) => {
      cut = path;
    },
    forget: (...ids) => {
      forgotten = ids;
    },
    ready: (says) => {
      health = healthThatSays(says);
    },
    require: (username, password) => {
      authorization = basic(username, password);
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

class Store {
  readonly #subjects = new Map<string, Version[]>();
  readonly #levels = new Map<string, string>();
  readonly #byId: Version[] = [];

  answer(method: string, path: readonly string[], sent: Record<string, unknown>): Answer {
    const [what = '', subject = '', , version = ''] = path;
    if (what === '_health') return healthThatSays(true);
    if (what === 'schemas') return this.#schema(Number(path[2]));
    if (what === 'config') return this.#config(method, subject, sent);
    if (what === 'compatibility') return this.#compatibility(path[2] ?? '', path[4] ?? '', sent);
    if (what !== 'subjects') return error(404, 404, 'HTTP 404 Not Found');
    if (method === 'GET') return this.#version(subject, version);
    if (path.length === 2) return this.#lookUp(subject, versionOf(sent));
    return this.#register(subject, versionOf(sent));
  }

  add(subject: string, version: Omit<Version, 'id'>): number {
    const versions = this.#subjects.get(subject) ?? [];
    const isSame = (each: Version): boolean =>
      each.schema === version.schema && each.type === version.type;
    const known = this.#byId.find(isSame);
    const registered = known ?? { ...version, id: this.#byId.length + 1 };
    if (known === undefined) this.#byId.push(registered);
    if (!versions.some(isSame)) this.#subjects.set(subject, [...versions, registered]);
    return registered.id;
  }

  #schema(id: number): Answer {
    const found = this.#byId[id - 1];
    if (found === undefined) return unknownSchema;
    return ok(described(found));
  }

  #version(subject: string, version: string): Answer {
    const versions = this.#subjects.get(subject);
    if (versions === undefined) return noSubject(subject);
    const number = version === 'latest' ? versions.length : Number(version);
    const found = versions[number - 1];
    if (found === undefined) return error(404, 40402, `Version ${version} not found.`);
    return ok({ subject, version: number, id: found.id, ...described(found) });
  }

  #lookUp(subject: string, { schema }: Omit<Version, 'id'>): Answer {
    const versions = this.#subjects.get(subject);
    if (versions === undefined) return noSubject(subject);
    const index = versions.findIndex((each) => each.schema === schema);
    const found = versions[index];
    if (found === undefined) return error(404, 40403, 'Schema not found');
    return ok({ subject, version: index + 1, id: found.id, ...described(found) });
  }

  #config(method: string, subject: string, sent: Record<string, unknown>): Answer {
    if (method === 'PUT') {
      const compatibility = String(sent['compatibility']);
      this.#levels.set(subject, compatibility);
      return ok({ compatibility });
    }
    const level = this.#levels.get(subject);
    if (level !== undefined) return ok({ compatibilityLevel: level });
    const message = `Subject '${subject}' does not have subject-level compatibility configured`;
    return error(404, 40408, message);
  }

  #compatibility(subject: string, version: string, sent: Record<string, unknown>): Answer {
    if (!this.#subjects.has(subject)) return noSubject(subject);
    if (version !== 'latest') return error(404, 40402, `Version ${version} not found.`);
    const messages = this.#breaks(subject, versionOf(sent));
    return ok({ is_compatible: messages.length === 0, messages });
  }

  #register(subject: string, version: Omit<Version, 'id'>): Answer {
    const known = this.#subjects.get(subject)?.find(({ schema }) => schema === version.schema);
    if (known !== undefined) return ok({ id: known.id });
    const breaks = this.#breaks(subject, version);
    if (breaks.length > 0) {
      const level = this.#levels.get(subject) ?? 'BACKWARD';
      const what = `Incompatible schema, compatibility_mode=${level}.`;
      return error(409, 409, `${what} Incompatibilities: ${breaks.join(', ')}`);
    }
    return ok({ id: this.add(subject, version) });
  }

  #breaks(subject: string, version: Omit<Version, 'id'>): readonly string[] {
    const latest = this.#subjects.get(subject)?.at(-1);
    const level = this.#levels.get(subject) ?? 'BACKWARD';
    return latest === undefined ? [] : breaksOf(level, latest, version);
  }
}

function versionOf(sent: Record<string, unknown>): Omit<Version, 'id'> {
  return {
    type: typeof sent['schemaType'] === 'string' ? sent['schemaType'] : 'AVRO',
    schema: String(sent['schema']),
    references: (sent['references'] ?? []) as readonly object[],
  };
}

function described({ type, schema, references }: Version): object {
  return {
    schema,
    ...(type === 'AVRO' ? {} : { schemaType: type }),
    ...(references.length === 0 ? {} : { references }),
  };
}

function ok(body: object): Answer {
  return { status: 200, body };
}

function error(status: number, code: number, message: string): Answer {
  return { status, body: { error_code: code, message } };
}

const unknownSchema: Answer = error(404, 40403, 'Schema not found');

function basic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

/** As Karapace says it. */
function healthThatSays(ready: boolean | undefined): Answer {
  if (ready === undefined) return error(404, 404, 'HTTP 404 Not Found');
  return ok({ status: { schema_registry_ready: ready }, healthy: true });
}

function noSubject(subject: string): Answer {
  return error(404, 40401, `Subject '${subject}' not found.`);
}

async function readAll(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += String(chunk);
  return text;
}

function send(response: ServerResponse, { status, body }: Answer): void {
  response.writeHead(status, { 'Content-Type': 'application/vnd.schemaregistry.v1+json' });
  response.end(JSON.stringify(body));
}

function sendHalf(response: ServerResponse, { status, body }: Answer): void {
  const text = JSON.stringify(body);
  response.writeHead(status, { 'Content-Length': text.length });
  response.write(text.slice(0, text.length / 2), () => response.destroy());
}

function listen(server: Server | https.Server): Promise<void> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      resolve();
    });
  });
}

/** Without its query. */
function pathOf({ url = '' }: IncomingMessage): string {
  return url.replace(/\?.*/, '');
}
