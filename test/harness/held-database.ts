import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';

/**
 * Fails if this process holds a DuckDB file. Another process asks, because within one, DuckDB's lock keeps nobody
 * out; and this one waits, because what it forgot to close would be closed when its memory is collected.
 */
export function failIfHeld(file: string): void {
  const duckdb = import.meta.resolve('@duckdb/node-api');
  const script = `import { DuckDBInstance } from '${duckdb}'; await DuckDBInstance.create(${JSON.stringify(file)});`;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
}
