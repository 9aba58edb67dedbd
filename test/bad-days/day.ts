import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { eventually } from '../harness/eventually.ts';
import { extent } from './extent.ts';
import { figuresOf, Ledger, type Figures } from '../harness/ledger.ts';
import { startLoad } from './load.ts';
import type { Stand } from './stand.ts';

const { callsPerSecond } = extent;
/** So many are delivered before anything happens. */
const underWay = callsPerSecond;
const settledWithinMs = 60_000;

/** One day: a load, what happens meanwhile, and its accounts. */
export interface Day {
  readonly ledger: Ledger;
  /** Waits until a second's calls are delivered that were accepted from now on, and few others wait. */
  goesOn(): Promise<void>;
}

/**
 * Runs the load, lets `events` happen to the deployment in the middle of it, and waits until all is
 * delivered that will be. Prints the figures.
 */
export async function livesThrough(
  t: TestContext,
  stand: Stand,
  name: string,
  events: (day: Day) => Promise<void>,
): Promise<Figures & { readonly ledger: Ledger }> {
  const ledger = new Ledger();
  stand.report(ledger);
  const load = startLoad({
    url: stand.gatewayUrl,
    writeKey: stand.writeKey,
    ledger,
    name: name.replaceAll(' ', '-'),
    callsPerSecond,
    users: stand.users,
  });
  const goesOn = async (): Promise<void> => {
    const fromMs = performance.now();
    await eventually(() => {
      const later = ledger.calls.filter(({ acceptedMs = 0 }) => acceptedMs > fromMs);
      const delivered = later.filter(({ deliveredMs }) => deliveredMs.length > 0);
      assert.ok(delivered.length > underWay, `${delivered.length} of ${later.length} delivered`);
      const waiting = later.length - delivered.length;
      assert.ok(waiting < underWay / 2, `${waiting} of ${later.length} wait`);
    }, settledWithinMs);
  };
  const failure = await goesOn()
    .then(() => events({ ledger, goesOn }))
    .then(goesOn)
    .catch((error: unknown) => error);
  await load.stop();
  const allArrived = eventually(() => {
    assert.equal(ledger.waiting().length, 0);
  }, settledWithinMs);
  // What is still missing then is lost, and its number is among the figures.
  await allArrived.catch(() => undefined);
  const unrest = await stand.atRest().catch((error: unknown) => error);
  const figures = figuresOf(ledger.calls);
  t.diagnostic(lineOf(name, figures, ledger.turnedAway));
  assert.ifError(failure ?? unrest);
  return { ...figures, ledger };
}

function lineOf(name: string, figures: Figures, turnedAway: number): string {
  return [
    `${name}: ${figures.accepted} accepted (${turnedAway} turned away)`,
    `${figures.delivered} delivered`,
    `${figures.lost} lost`,
    `${figures.repeated} repeated (${figures.extra} more deliveries)`,
    `longest silence ${seconds(figures.longestSilenceMs)}`,
    `p50 ${figures.p50Ms.toFixed(0)} ms`,
    `p99 ${figures.p99Ms.toFixed(0)} ms`,
  ].join(', ');
}

export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(2)} s`;
}
