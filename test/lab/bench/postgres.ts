import { execFile } from 'node:child_process';
import { Writable } from 'node:stream';
import { promisify } from 'node:util';
import { copyRows } from '../../../src/audience/read/postgres.ts';
import { startPostgres } from '../../harness/postgres.ts';
import { medianOf, type BenchResult } from './measure.ts';

export interface PostgresBenchOptions {
  /** Default 9. */
  readonly pairs?: number;
  readonly log?: (line: string) => void;
}

const rowCount = 5_000_000;
/** `user-1000001` and a line break. */
const lineBytes = 13;
const least = 0.7;

/**
 * Reading a query's rows and throwing them away, in rows a second, against what PostgreSQL's own client
 * does of the same query.
 * @throws Error without `psql`, e.g. of Debian's package postgresql-client
 */
export async function benchPostgres({
  pairs = 9,
  log,
}: PostgresBenchOptions): Promise<BenchResult> {
  const server = await startPostgres();
  try {
    await server.run(`CREATE TABLE members AS
      SELECT 'user-' || i AS id FROM generate_series(1000001, ${1_000_000 + rowCount}) i`);
    await server.run('VACUUM (FREEZE, ANALYZE) members');
    const ratios: number[] = [];
    const psqlRates: number[] = [];
    const ownRates: number[] = [];
    // The first pair warms up.
    for (let pair = 0; pair <= pairs; pair += 1) {
      const psql = await rate(() => copyWithPsql(server.url));
      const own = await rate(() => copyWithReader(server.url));
      if (pair === 0) continue;
      psqlRates.push(psql);
      ownRates.push(own);
      ratios.push(own / psql);
      log?.(`psql ${Math.round(psql)} rows/s; reader ${Math.round(own)} rows/s`);
    }
    const median = medianOf(ratios);
    return {
      name: 'postgres, rows of one text column read and discarded: a second, as a share of psql',
      required: `at least ${least}`,
      ratios,
      median,
      spread: [Math.min(...ratios), Math.max(...ratios)],
      passed: median >= least,
      absolutes: {
        'psql \\copy to /dev/null, rows a second': Math.round(medianOf(psqlRates)).toString(),
        'reader, rows a second': Math.round(medianOf(ownRates)).toString(),
      },
    };
  } finally {
    await server.stop();
  }
}

const query = 'SELECT id FROM members';

async function copyWithPsql(url: string): Promise<void> {
  await promisify(execFile)('psql', [url, '-q', '-c', `\\copy (${query}) to '/dev/null'`]);
}

async function copyWithReader(url: string): Promise<void> {
  let bytes = 0;
  const discard = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      bytes += chunk.length;
      done();
    },
  });
  await copyRows({ postgres: url, query }, 'members', discard, 600_000, () => undefined);
  if (bytes !== rowCount * lineBytes) throw new Error(`read ${bytes} bytes of ${rowCount} rows`);
}

async function rate(run: () => Promise<void>): Promise<number> {
  const startedMs = performance.now();
  await run();
  return (rowCount / (performance.now() - startedMs)) * 1_000;
}
