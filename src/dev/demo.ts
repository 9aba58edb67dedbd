import { setTimeout as delay } from 'node:timers/promises';
import { decodeEnvelope, envelopeHeader } from '../event/envelope.ts';
import type { KafkaClient } from '../kafka/client.ts';
import { startFollower } from '../kafka/follow/follower.ts';
import type { Producer } from '../kafka/produce/producer.ts';
import type { Logger } from '../ops/log.ts';
import type { Topology } from '../topology.ts';
import { demoWriteKey } from './demo-endpoints.ts';
import { balances, type Account, type Ledger } from './ledger.ts';
import type { PurchaseCall } from './purchases.ts';

/** Fast enough to be a load, slow enough to be watched. */
const eventsPerSecond = 200;
const checkEveryMs = 200;

interface DemoDeps {
  readonly kafka: KafkaClient;
  readonly topology: Topology;
  readonly producer: Producer;
  readonly log: Logger;
}

/** Sends the calls to `ingest` at an even pace, each entered into the ledger first. */
export async function replay(
  { producer, topology }: DemoDeps,
  calls: readonly PurchaseCall[],
  ledger: Ledger,
): Promise<void> {
  const startedMs = Date.now();
  const written: Promise<void>[] = [];
  for (const [index, call] of calls.entries()) {
    const user = String(call['userId'] ?? call['anonymousId']);
    ledger.produced(call.messageId, user);
    const record = {
      topic: topology.topics.ingest,
      key: user,
      value: JSON.stringify(call),
      headers: { 'write-key': demoWriteKey },
    };
    written.push(producer.send([record]));
    const dueMs = startedMs + ((index + 1) * 1_000) / eventsPerSecond;
    if (dueMs > Date.now() + 20) await delay(dueMs - Date.now());
  }
  await Promise.all(written);
}

/** Enters what arrives in `dead-letter` into the ledger, until stopped. */
export function watchDeadLetters(
  { kafka, topology, log }: DemoDeps,
  ledger: Ledger,
): { stop(): Promise<void> } {
  return startFollower(kafka, {
    topic: topology.topics.deadLetter,
    log,
    onRecord: ({ headers }) => {
      const header = headers[envelopeHeader];
      const envelope = header === undefined ? undefined : decodeEnvelope(header);
      if (envelope === undefined) return;
      const reason = headers['reason']?.toString() ?? 'unknown';
      ledger.deadLettered(envelope.destinationId, envelope.messageId, reason);
    },
  });
}

/** Resolves with true when every event is accounted for, with false after `timeLimitMs`. */
export async function settled(ledger: Ledger, timeLimitMs: number): Promise<boolean> {
  const giveUpMs = Date.now() + timeLimitMs;
  while (Date.now() < giveUpMs) {
    if (balances(ledger.accounts())) return true;
    await delay(checkEveryMs);
  }
  return false;
}

/** The summary that the demo ends with, as a table for a terminal. */
export function summaryTable(accounts: readonly Account[]): string {
  const header = ['destination', 'produced', 'requests', 'delivered', 'dead letters', 'missing'];
  const more = ['repeats and failures', 'bad signatures', 'out of order'];
  const rows = accounts.map((account) => [
    account.destination,
    String(account.produced),
    String(account.requests),
    String(account.delivered),
    deadLetters(account.deadLetters),
    String(account.missing),
    String(account.extraArrivals),
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

/** The demo's present figures, for the live line. */
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
