import type { DuckDBConnection } from '@duckdb/node-api';
import { faults, type Fault, type ReadReport } from './report.ts';
import { text, type Rows } from './rows.ts';

/** Characters that are removed around an id: space, tab, line breaks. */
const blanks = String.raw`E' \t\r\n'`;
/**
 * An identify call may have 32 KB. The id is in it once, six times as long in JSON at worst; names and the
 * rest of the call stay below 5 KB.
 */
const maxIdBytes = 1_000;
const maxValueBytes = 20 * 1024;

/**
 * Creates the table `current(user_id, value)` from the rows, one row for each user. Of several values, the
 * one whose JSON sorts last is used, so the result does not depend on the order of the rows.
 */
export async function fillCurrent(
  connection: DuckDBConnection,
  rows: readonly Rows[],
): Promise<ReadReport> {
  await connection.run(`CREATE OR REPLACE TABLE current AS ${usersOf(rows)}`);
  const counts = await count(connection);
  await connection.run('DELETE FROM current WHERE fault IS NOT NULL');
  for (const column of ['fault', 'rows', 'trimmed', 'differ'])
    await connection.run(`ALTER TABLE current DROP COLUMN ${column}`);
  return counts;
}

/** A row for each user, and one for each fault. */
function usersOf(rows: readonly Rows[]): string {
  const hasValues = rows.some(({ value }) => value !== undefined);
  const [value, differ] = hasValues
    ? ['max(value)', 'min(value) IS DISTINCT FROM max(value)']
    : ["'true'", 'false'];
  const judged = rows.map(judge).join(' UNION ALL ');
  const from = rows.length === 0 ? `(${nothing})` : `(${judged})`;
  return `
    SELECT
      CASE WHEN fault IS NULL THEN trimmed_id END AS user_id,
      ${value} AS value,
      fault,
      count(*) AS rows,
      count_if(id <> trimmed_id) AS trimmed,
      ${differ} AS differ
    FROM ${from}
    GROUP BY 1, fault`;
}

function judge({ source, id, value }: Rows): string {
  const cells = `
    SELECT ${id.is} AS id, ${id.isOther} AS other_id,
      ${value?.is ?? "'true'"} AS value, ${value?.isOther ?? 'false'} AS other_value
    FROM ${source}`;
  const fault = (name: Fault, condition: string): string => `WHEN ${condition} THEN ${text(name)}`;
  return `
    SELECT id, trimmed_id, value, CASE
      ${fault('otherIds', 'other_id')}
      ${fault('nullIds', 'id IS NULL')}
      ${fault('emptyIds', "trimmed_id = ''")}
      ${fault('exponentIds', `regexp_full_match(trimmed_id, '[0-9](\\.[0-9]+)?[eE]\\+[0-9]+')`)}
      ${fault('longIds', `strlen(trimmed_id) > ${maxIdBytes}`)}
      ${fault('otherValues', 'other_value')}
      ${fault('nullValues', 'value IS NULL')}
      ${fault('longValues', `strlen(value) > ${maxValueBytes}`)}
      END AS fault
    FROM (SELECT *, trim(id, ${blanks}) AS trimmed_id FROM (${cells}))`;
}

const nothing =
  'SELECT NULL::VARCHAR AS id, NULL::VARCHAR AS trimmed_id, NULL::VARCHAR AS value, NULL::VARCHAR AS fault LIMIT 0';

/** Texts that databases, spreadsheets and programs write for nothing, and the last row of a report. */
const placeholders = [
  'null',
  '(null)',
  '\\n',
  'nan',
  'none',
  'nil',
  'n/a',
  '#n/a',
  'undefined',
  'total',
];
const isPlaceholder = `length(user_id) < 10 AND lower(user_id) IN (${placeholders.map(text).join(', ')})`;

async function count(connection: DuckDBConnection): Promise<ReadReport> {
  const isNumeric = "ascii(user_id) BETWEEN 48 AND 57 AND regexp_full_match(user_id, '[0-9]+')";
  const counted = await connection.runAndReadAll(`
    SELECT fault, sum(rows)::DOUBLE AS rows, count(*)::DOUBLE AS users,
      sum(CASE WHEN fault IS NULL THEN trimmed ELSE 0 END)::DOUBLE AS trimmed,
      count_if(differ AND fault IS NULL)::DOUBLE AS differ,
      count_if(${isNumeric})::DOUBLE AS numeric,
      count_if(${isNumeric} AND starts_with(user_id, '0') AND length(user_id) > 1)::DOUBLE AS zero,
      count_if(${isNumeric} AND length(user_id) >= 16)::DOUBLE AS long,
      count_if(${isPlaceholder})::DOUBLE AS placeholder
    FROM current GROUP BY fault`);
  const found = counted.getRowObjectsJS();
  const of = (fault: string | null, column: string): number =>
    Number(found.find((row) => row['fault'] === fault)?.[column] ?? 0);
  const leftOut = Object.fromEntries(
    Object.keys(faults).map((fault) => [fault, of(fault, 'rows')]),
  ) as Record<Fault, number>;
  const used = of(null, 'rows');
  const members = of(null, 'users');
  return {
    rows: Object.values(leftOut).reduce((sum, each) => sum + each, used),
    members,
    duplicates: used - members,
    conflicts: of(null, 'differ'),
    trimmedIds: of(null, 'trimmed'),
    numericIds: of(null, 'numeric'),
    leadingZeroIds: of(null, 'zero'),
    longNumericIds: of(null, 'long'),
    placeholderIds: of(null, 'placeholder'),
    leftOut,
  };
}
