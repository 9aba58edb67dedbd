import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { readDeadLetter } from '../../../src/dead-letter/dead-letter.ts';
import { eventually } from '../../harness/eventually.ts';
import { readAll } from '../../kafka/topics.ts';
import { Accounts, type Missing, type Wait } from './accounts.ts';
import { audienceDestination } from './audience-syncs.ts';
import { endpointIds, healthyIds, isRefused, orderedIds, refusal } from './endpoint-kinds.ts';
import type { Fault, MayRepeat } from './faults.ts';
import { callsPerSecond } from './load.ts';
import type { Random } from './random.ts';
import { allAtRest, inFlightPerDestination, type Stand } from './stand.ts';

/** What came of one fault. */
export interface PhaseResult {
  readonly fault: string;
  readonly what: string;
  /** Calls that the gateways or Kafka have acknowledged. */
  readonly accepted: number;
  /** Events, each for one endpoint, that never arrived and were not given up. */
  readonly lost: readonly Missing[];
  /** Deliveries beyond the first of an event. */
  readonly repeated: number;
  readonly longestStallMs: number;
  readonly longestWait: Wait;
  /** From the moment at which the fault was mended. */
  readonly settledMs: number;
  /** Each promise that was not kept, in a sentence. */
  readonly problems: readonly string[];
}

export interface PhaseOptions {
  /** The beginning of all ids. */
  readonly name: string;
  readonly fault: Fault;
  readonly random: Random;
  /** An audience is synced meanwhile. */
  readonly withSync: boolean;
}

/** Before the fault, and until it counts as over. */
const underWay = 2 * callsPerSecond;
/** A second for what has to be done, and the second that batches wait. */
const momentMs = 2_000;
const settledWithinMs = 120_000;
/** Of an event for a healthy endpoint that the fault is not about. */
const mostWaitMs = 10_000;
/** A member's session with its group lasts for 10 s, roles start in seconds, and brokers too. */
const recoveryMs = 45_000;
/** What one process has in flight and has not committed: for each endpoint, and half a second's work. */
const mostInFlight = endpointIds.length * (inFlightPerDestination + callsPerSecond / 2);
/** Members that cannot commit take nothing in when their session of ten seconds is over. */
const mostInSession = mostInFlight + endpointIds.length * callsPerSecond * 10;
const mostRepeats: Readonly<Record<MayRepeat, number>> = {
  nothing: 0,
  'in flight': mostInFlight,
  'a session': mostInSession,
};
/** Answers before that never end. */
const unansweredMs = 20_000;

/** Runs a load, lets the fault happen in the middle of it, and settles the accounts. */
export async function liveThrough(stand: Stand, options: PhaseOptions): Promise<PhaseResult> {
  const { name, fault, random, withSync } = options;
  const problems: string[] = [];
  /** What is not so in time is a problem, and the phase goes on. */
  const hope = async (what: string, check: () => Promise<unknown>): Promise<void> => {
    await check().catch((error: unknown) => {
      problems.push(`${what}: ${error instanceof Error ? error.message : String(error)}`);
    });
  };
  const accounts = new Accounts(name, endpointIds);
  // They are those of the time before.
  stand.endpoints.takeProblems();
  const load = stand.startLoad(accounts);
  await hope('before the fault', () => goesOn(accounts, performance.now()));

  const begunMs = performance.now();
  // What was in flight then counts too.
  const sinceMs = begunMs - momentMs;
  const begun = await fault.begin(stand, random);
  const { what, troubled = [], killSyncAfterMs } = begun;
  const giveUp = new AbortController();
  const isSynced = withSync || killSyncAfterMs !== undefined;
  const syncing = isSynced
    ? stand.syncs.run(accounts, killSyncAfterMs, giveUp.signal)
    : Promise.resolve();
  // It is awaited after the fault.
  syncing.catch(() => undefined);
  await delay(random.between(...fault.holdMs));
  await hope('mending', async () => begun.mend());
  const mendedMs = performance.now();
  await hope('after the fault', () => goesOn(accounts, mendedMs));
  const timer = setTimeout(() => {
    giveUp.abort();
  }, settledWithinMs);
  await hope('the audience sync', () => syncing);
  clearTimeout(timer);
  await load.stop(unansweredMs);
  await hope('at the end', () => settled(stand, accounts));
  const settledMs = performance.now() - mendedMs;
  // Whatever was given up against all promises is not lost.
  await hope('dead letters', () => readLetters(stand, accounts));
  await hope('the console', () => consoleAnswers(stand));

  const untroubled = (ids: readonly string[]): string[] =>
    ids.filter((id) => !troubled.includes(id));
  const healthy = untroubled(healthyIds);
  const longestWait = accounts.longestWait(healthy, sinceMs);
  const allowedMs = fault.stopsEvents ? mendedMs - begunMs + recoveryMs : mostWaitMs;
  if (longestWait.waitMs > allowedMs)
    problems.push(
      `${longestWait.id} waited ${seconds(longestWait.waitMs)} for ${longestWait.destinationId}, allowed: ${seconds(allowedMs)}`,
    );
  const repeated = accounts.repeatsAt(untroubled(endpointIds), sinceMs);
  const allowedRepeats = mostRepeats[fault.mayRepeat];
  if (repeated > allowedRepeats)
    problems.push(`${repeated} deliveries were repeated, allowed: ${allowedRepeats}`);
  problems.push(
    ...stand.endpoints.takeProblems(),
    ...orderedIds.flatMap((id) =>
      accounts.overtakersAt(id).map((overtaker) => `${id} got ${overtaker}`),
    ),
    ...accounts
      .unexpectedLetters((id, key, reason) => isRefused(id, key) && reason === `http-${refusal}`)
      .map((letter) => `given up: ${letter}`),
  );
  return {
    fault: fault.name,
    what,
    accepted: accounts.calls,
    lost: accounts.missing(),
    repeated: accounts.repeatsAt(endpointIds, sinceMs),
    longestStallMs: accounts.longestStallMs(healthy, sinceMs),
    longestWait,
    settledMs,
    problems,
  };
}

/**
 * Waits until calls that were accepted from now on arrive at each healthy endpoint, and none that is older than
 * a moment waits for one.
 */
async function goesOn(accounts: Accounts, fromMs: number): Promise<void> {
  await eventually(() => {
    const momentAgoMs = performance.now() - momentMs;
    for (const id of healthyIds) {
      const calls = accounts.callsFor([id]);
      const delivered = calls.filter(
        ({ acceptedMs = 0, deliveredMs }) => acceptedMs > fromMs && deliveredMs.length > 0,
      );
      assert.ok(delivered.length >= underWay, `${id} got ${delivered.length} later calls`);
      const waiting = calls.filter(
        (call) =>
          (call.acceptedMs ?? Infinity) < momentAgoMs &&
          call.deliveredMs.length === 0 &&
          !isRefused(id, call.id),
      );
      assert.equal(waiting.length, 0, `${waiting.length} calls wait for ${id}`);
    }
  }, settledWithinMs);
}

/** All that was accepted was delivered or given up, all processes run, and nothing can be read again. */
async function settled(stand: Stand, accounts: Accounts): Promise<void> {
  await eventually(async () => {
    // They are read when all else is there.
    const isThere = accounts
      .missing()
      .every(({ destinationId, id }) => isRefused(destinationId, id));
    if (isThere) await readLetters(stand, accounts);
    const missing = accounts.missing();
    assert.equal(missing.length, 0, `${missing.length} events have not arrived`);
    const down = stand.roles.filter(({ running }) => running === undefined);
    assert.deepEqual(
      down.map(({ name }) => name),
      [],
      'roles that do not run',
    );
  }, settledWithinMs);
  const rejected = await readAll(stand.client, stand.kafka.name('ingest.rejected'));
  assert.equal(rejected.length, 0, `${rejected.length} calls were rejected`);
  await allAtRest(stand.kafka);
}

async function readLetters(stand: Stand, accounts: Accounts): Promise<void> {
  for (const record of await readAll(stand.client, stand.kafka.name('dead-letter'))) {
    const { destinationId, envelope, reason } = readDeadLetter(record);
    const id = envelope?.messageId ?? '';
    if (id.startsWith(`${accounts.name}-`)) accounts.givenUp(destinationId, id, reason);
    // A sync's own ids are not known: none of its events may be given up.
    else if (destinationId === audienceDestination)
      accounts.givenUp(destinationId, id, `${reason}, an event of a sync`);
  }
}

/** It runs, and its index has all that Kafka has. */
async function consoleAnswers({ roles }: Stand): Promise<void> {
  await eventually(async () => {
    const running = roles.find(({ name }) => name === 'console')?.running;
    assert.ok(running !== undefined, 'it does not run');
    const { status } = await fetch(`${running.consoleUrl}/api/v1/destinations`);
    assert.equal(status, 200);
    const metrics = await (await fetch(`${running.url}/metrics`)).text();
    assert.match(metrics, /^postrider_console_index_caught_up 1$/m, 'its index is behind');
  }, settledWithinMs);
}

export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
