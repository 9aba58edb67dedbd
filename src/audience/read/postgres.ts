import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Client } from 'pg';
import { formatDuration } from '../../duration.ts';
import { PostriderError } from '../../errors.ts';
import type { PostgresRows } from '../../resources/resource.ts';
import { accessOf, type PostgresAccess } from './postgres-tls.ts';
import { files } from './rows.ts';

/** The columns of the copy; a value is JSON, and a number if `valueIsNumber`. */
export interface CopiedColumns {
  readonly id: 'text' | 'numeric' | 'other';
  readonly valueIsNumber: boolean;
}

const connectTimeoutMs = 10_000;
const serverGraceMs = 10_000;
/** SQLSTATE; also if an administrator canceled the query. */
const queryCanceled = '57014';

/**
 * Streams the result of the query to `sink` in COPY's text format, in a read-only transaction. Nothing is
 * held in memory. Members have one column; values two, the second of which becomes JSON.
 * @param checkAge throws if the data is too old
 * @throws PostriderError `input-invalid`: login or query refused, another number of columns;
 * `database-unavailable`: not reached, or lost on the way
 */
export async function copyRows(
  { postgres, query, asOf }: PostgresRows,
  rows: 'members' | 'values',
  sink: Writable,
  timeoutMs: number,
  checkAge: (atMs: number | undefined) => void,
): Promise<CopiedColumns> {
  const client = await connect(postgres);
  // The server ends a query in time. If it no longer answers at all, this ends the connection.
  const deadline = setTimeout(() => {
    client.connection.stream.destroy(timedOut(timeoutMs));
  }, timeoutMs + serverGraceMs);
  try {
    await client.query('BEGIN TRANSACTION READ ONLY');
    await client.query(`SET LOCAL statement_timeout = ${timeoutMs}`);
    if (asOf !== undefined) checkAge(await timeOf(client, asOf));
    const asked = inside(query);
    const columns = await describe(client, asked, rows);
    const picked =
      rows === 'members'
        ? `SELECT CAST(id AS text) FROM ${asked} AS picked(id)`
        : `SELECT CAST(id AS text), to_json(value) FROM ${asked} AS picked(id, value)`;
    const { to } = await import('pg-copy-streams');
    const copied = client.query(to(`COPY (${picked}) TO STDOUT`));
    await pipeline(copied, sink);
    return columns;
  } catch (error) {
    const isTimeout = (error as { code?: string }).code === queryCanceled;
    throw explain(isTimeout ? timedOut(timeoutMs) : error, postgres, 'refused the query');
  } finally {
    clearTimeout(deadline);
    await client.end().catch(() => undefined);
  }
}

/** A query may end in a semicolon, or in a comment. */
function inside(query: string): string {
  return `(${query.replace(/[;\s]+$/, '')}\n)`;
}

/** The time that a query for one returns. */
async function timeOf(client: Client, asOf: string): Promise<number | undefined> {
  const epoch = 'extract(epoch FROM newest)::float8 * 1000';
  const text = `SELECT ${epoch} AS ms FROM ${inside(asOf)} AS picked(newest)`;
  const one = { text, queryMode: 'extended' };
  const { rows } = await client.query<{ ms: number | null }>(one);
  return rows[0]?.ms ?? undefined;
}

/** A transaction that begins after ours, if one can, only reads too. */
const readingOnly = '-c default_transaction_read_only=on';
/** SQLSTATE; what a pooler answers that knows no such options. */
const protocolViolation = '08P01';

async function connect(url: string): Promise<Client> {
  const access = accessOf(url);
  try {
    return await open(access, readingOnly).catch((error: unknown) => {
      if ((error as { code?: string }).code === protocolViolation) return open(access, undefined);
      throw error;
    });
  } catch (error) {
    throw explain(error, url, 'refused the connection');
  }
}

async function open(access: PostgresAccess, options: string | undefined): Promise<Client> {
  const { Client: PostgresClient } = await import('pg');
  const { connectionString, ssl } = access;
  const client = new PostgresClient({
    connectionString,
    options,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    application_name: 'postrider audience-sync',
    ssl,
  });
  // A connection that breaks ends the query with the same error.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/**
 * The columns of the query, which is one statement afterwards: the extended protocol refuses several, so there is no
 * semicolon in it that ends one. COPY wants the simple protocol, which would run them all, a COMMIT among them.
 */
async function describe(
  client: Client,
  asked: string,
  rows: 'members' | 'values',
): Promise<CopiedColumns> {
  const one = { text: `SELECT * FROM ${asked} AS picked LIMIT 0`, queryMode: 'extended' };
  const { fields } = await client.query(one);
  const [id, value] = fields;
  const wanted = rows === 'members' ? 1 : 2;
  if (id === undefined || fields.length !== wanted) {
    const names = fields.map(({ name }) => name).join(', ');
    const should =
      rows === 'members' ? "one column, the user's id" : "two columns, the user's id and the value";
    throw invalid(
      `the query returns ${fields.length} columns (${names}); it should return ${should}`,
    );
  }
  const oids = [id.dataTypeID, value?.dataTypeID ?? id.dataTypeID];
  const { rows: types } = await client.query<{ oid: number; category: string }>(
    'SELECT oid, typcategory AS category FROM pg_type WHERE oid = ANY($1)',
    [oids],
  );
  const categoryOf = (oid: number | undefined): string =>
    types.find((type) => type.oid === oid)?.category ?? '';
  return {
    id: kindOfId(id.dataTypeID, categoryOf(id.dataTypeID)),
    valueIsNumber: categoryOf(value?.dataTypeID) === 'N',
  };
}

const numericOid = 1700;
/** int8, int2, int4, oid, uuid. */
const idOids = [20, 21, 23, 26, 2950];

function kindOfId(oid: number, category: string): CopiedColumns['id'] {
  if (oid === numericOid) return 'numeric';
  // Strings and enums.
  return category === 'S' || category === 'E' || idOids.includes(oid) ? 'text' : 'other';
}

/** Classes of SQLSTATE that are temporary: connection, resources, intervention by an operator. */
const passing = /^(08|53|57)/;

/** Never contains the URL, nor a cause that might. The server's message is shown. */
function explain(error: unknown, url: string, what: string): PostriderError {
  if (error instanceof PostriderError) return error;
  const { code = '', message, severity } = error as Error & { code?: string; severity?: string };
  if (severity !== undefined && !passing.test(code))
    return invalid(`PostgreSQL ${what}: ${message}`);
  const reason = reasons[code] ?? (message === '' ? code : message);
  const at = placeOf(url);
  return new PostriderError('database-unavailable', `PostgreSQL${at} is not available: ${reason}`);
}

const untrusted =
  'its certificate is of an unknown authority; name the file of that authority as sslrootcert in the URL';

const reasons: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was lost',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'its name cannot be resolved now',
  ETIMEDOUT: 'no answer',
};

function placeOf(url: string): string {
  const host = URL.canParse(url) ? new URL(url).host : '';
  return host === '' ? '' : ` at ${host}`;
}

function timedOut(timeoutMs: number): Error {
  return new Error(
    `the query took longer than AUDIENCE_QUERY_TIMEOUT (${formatDuration(timeoutMs)}), or was canceled`,
  );
}

function invalid(message: string): PostriderError {
  return new PostriderError('input-invalid', message);
}

/**
 * A file that COPY wrote in its text format, as columns c0, c1 of text. That format costs the server less
 * than CSV, and no line break is inside a cell. Its escapes:
 * https://www.postgresql.org/docs/current/sql-copy.html#SQL-COPY-FILE-FORMATS
 */
export function copiedRows(file: string, columns: number): string {
  const names = Array.from({ length: columns }, (_, index) => `c${index}`);
  const read = `read_csv(${[
    files([file]),
    'auto_detect = false',
    `columns = {${names.map((name) => `${name}: 'VARCHAR'`).join(', ')}}`,
    'header = false',
    `delim = '\t'`,
    `quote = ''`,
    `escape = ''`,
    `new_line = '\\n'`,
  ].join(', ')})`;
  return `(SELECT ${names.map((name) => `${unescaped(name)} AS ${name}`).join(', ')} FROM ${read})`;
}

/**
 * DuckDB skips an empty line unless that means NULL. So empty is read as NULL, and NULL as `\N`. PostgreSQL's
 * text has no NUL character, which therefore can replace an escaped backslash.
 */
function unescaped(cell: string): string {
  const placed = String.raw`replace(${cell}, '\\', chr(0))`;
  const controls = Object.entries({ b: 8, t: 9, n: 10, v: 11, f: 12, r: 13 });
  const plain = controls.reduce(
    (text, [letter, code]) => `replace(${text}, '\\${letter}', chr(${code}))`,
    placed,
  );
  return String.raw`CASE
    WHEN ${cell} IS NULL THEN ''
    WHEN NOT contains(${cell}, '\') THEN ${cell}
    WHEN ${cell} <> '\N' THEN replace(${plain}, chr(0), '\') END`;
}
