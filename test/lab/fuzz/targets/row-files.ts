import assert from 'node:assert/strict';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openDatabase } from '../../../../src/audience/database.ts';
import { parseRecord } from '../../../../src/audience/read/first-record.ts';
import { readMembers } from '../../../../src/audience/read/read-members.ts';
import { PostriderError } from '../../../../src/errors.ts';
import type { Target } from '../engine/target.ts';

const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'postrider-fuzz-')));
const tempFolder = path.join(folder, 'spilled');
const database = await openDatabase(path.join(folder, 'scratch.duckdb'), tempFolder);

/** The first byte: NDJSON or CSV, members or values, with or without a header. */
export const target: Target = {
  about:
    'CSV and NDJSON files of audiences: a sentence with the file, or a row for each line, with the ids that JSON.parse sees',
  seeds: [
    'Nid,value\n{"id":"u1","value":1.50}\n{"id":42,"value":"x"}\n{"other":null}\n\n',
    'n{"id":" u1 "}\n{"id":"caf\\u00e9"}\n{"id":[1]}\n',
    'Cid,value\nu1,1\n"u,2","a""b"\nu1,TRUE\n,5\n',
    'cid;other\r\nu1;x\r\n"u\n2";y\r\n',
    'c\ufeffid\nu1\n',
  ],
  words: [
    '"id":',
    '"value":',
    '\n',
    '\r\n',
    '"',
    '""',
    ',',
    ';',
    '{',
    '}',
    '\\u0000',
    '\\ud800',
    '\xff',
    '\0',
    '\ufeff',
    '1e400',
    '-0',
  ],
  mostBytes: 2_048,
  mostCpuMs: 2_000,
  async check(input) {
    const kind = String.fromCharCode(input[0] ?? 0);
    const text = input.subarray(1);
    assertFirstRecord(text.toString('latin1'));
    const isJson = kind.toLowerCase() === 'n';
    const file = isJson ? 'm.ndjson' : 'm.csv';
    writeFileSync(path.join(folder, file), text);
    const hasValues = kind === 'N' || kind === 'C';
    const from = hasValues ? { file, userId: 'id', value: 'value' } : { file, userId: 'id' };
    const options = {
      rows: hasValues ? 'values' : 'members',
      folder,
      tempFolder,
      queryTimeoutMs: 5_000,
      nowMs: 0,
      allowOld: true,
    } as const;
    let report;
    try {
      report = await readMembers(database.connection, from, options);
    } catch (error) {
      assert.ok(error instanceof PostriderError, String(error));
      assert.equal(error.code, 'input-invalid');
      assert.doesNotMatch(error.message, /undefined|\[object|Error:/);
      return;
    }
    const { rows, members, duplicates, leftOut } = report;
    const out = Object.values(leftOut).reduce((sum, each) => sum + each, 0);
    assert.equal(rows, members + duplicates + out, 'every row is somewhere');
    const table = await database.connection.runAndReadAll('SELECT * FROM current');
    const current = table.getRowsJson() as [string, string][];
    assert.equal(current.length, members);
    for (const [id, value] of current) {
      assert.equal(id.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, ''), id);
      assert.doesNotThrow(() => JSON.parse(value) as unknown, 'a value is JSON');
    }
    if (isJson && !hasValues)
      assertSameIds(
        text,
        current.map(([id]) => id),
        rows,
      );
  },
  close() {
    database.close();
    rmSync(folder, { recursive: true });
    return Promise.resolve();
  },
};

/** Where JSON.parse agrees that every line is an object. */
function assertSameIds(bytes: Buffer, found: readonly string[], rows: number): void {
  const lines = bytes
    .toString()
    .split(/\r\n|\n|\r/)
    .filter((line) => line.trim() !== '');
  const ids = new Set<string>();
  for (const line of lines) {
    let id: unknown;
    try {
      id = (JSON.parse(line) as { id?: unknown } | null)?.id;
    } catch {
      return;
    }
    const isTwice = line.split('"id"').length !== 2;
    if (isTwice || /\\u|\\"/.test(line)) return;
    if (typeof id === 'string') ids.add(id.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, ''));
    else if (typeof id === 'number' && !/^-?\d+$/.test(String(id))) return;
    else if (typeof id === 'number' && Number.isSafeInteger(id)) ids.add(String(id));
    else if (typeof id === 'number') return;
  }
  ids.delete('');
  assert.equal(rows, lines.length);
  assert.deepEqual(
    [...found].sort(),
    [...ids].filter((id) => Buffer.byteLength(id) <= 1_000).sort(),
  );
}

function assertFirstRecord(text: string): void {
  const { cells, isWhole } = parseRecord(text, ',');
  assert.ok(cells.length > 0);
  if (!isWhole) return;
  const written = `${cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')}\n`;
  assert.deepEqual(parseRecord(written, ',').cells, cells, 'a round trip');
}
