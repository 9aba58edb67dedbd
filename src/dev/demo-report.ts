import type { Account } from './ledger.ts';

/** The summary that the demo ends with, as a table for a terminal. */
export function summaryTable(accounts: readonly Account[]): string {
  const header = ['destination', 'produced', 'delivered', 'dead letters', 'missing'];
  const more = ['repeats and failures', 'bad signatures', 'out of order'];
  const rows = accounts.map((account) => [
    account.destination,
    String(account.produced),
    String(account.delivered),
    deadLetters(account.deadLetters),
    String(account.missing),
    String(account.extraRequests),
    String(account.badSignatures),
    String(account.outOfOrder),
  ]);
  return alignColumns([[...header, ...more], ...rows]);
}

function deadLetters(byReason: Readonly<Record<string, number>>): string {
  const parts = Object.entries(byReason).map(([reason, count]) => `${count} ${reason}`);
  return parts.length === 0 ? '0' : parts.join(', ');
}

function alignColumns(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths?.[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** What is happening now, for the live line. */
export interface DemoProgress {
  readonly produced: number;
  readonly total: number;
  readonly delivered: number;
  readonly deliveriesPerSecond: number;
  readonly retries: number;
  readonly deadLetters: number;
  readonly breakersOpen: number;
}

export function progressLine(progress: DemoProgress): string {
  return [
    `produced ${progress.produced}/${progress.total}`,
    `delivered ${progress.delivered} (${progress.deliveriesPerSecond}/s)`,
    `retries ${progress.retries}`,
    `dead letters ${progress.deadLetters}`,
    `open breakers ${progress.breakersOpen}`,
  ].join('   ');
}
