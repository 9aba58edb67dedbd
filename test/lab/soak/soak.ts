import { mkdirSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join, resolve } from 'node:path';
import { faults, type Fault } from './faults.ts';
import { liveThrough, seconds, type PhaseResult } from './phase.ts';
import { Random } from './random.ts';
import { startStand, type Stand } from './stand.ts';

export interface SoakOptions {
  readonly seed: number;
  /** No fault begins later; one that has begun is settled. */
  readonly minutes: number;
  /** Only these. */
  readonly only?: readonly string[];
  readonly log: (line: string) => void;
}

export interface SoakResult {
  readonly seed: number;
  readonly minutes: number;
  readonly tookMs: number;
  /** Processes that ran or wanted to, on average over the last quarter of an hour: what else the machine did. */
  readonly loadAverage: number;
  readonly phases: readonly PhaseResult[];
  /** Faults that this machine cannot have, with the reason. */
  readonly skipped: readonly string[];
  /** How roles ended by themselves. */
  readonly crashes: readonly string[];
}

/** One phase in so many has an audience sync. */
const syncEvery = 3;
const mostExplained = 5;
const logFolder = resolve('.cache/soak');

/** Lets one fault after the other happen to a deployment, in an order that the seed decides. */
export async function soak(options: SoakOptions): Promise<SoakResult> {
  const { seed, minutes, only, log } = options;
  const random = new Random(seed);
  const fromMs = performance.now();
  log('starting three brokers and seven processes');
  const stand = await startStand();
  log(`all run`);
  try {
    const wanted = faults.filter(({ name }) => only?.includes(name) ?? true);
    const skipped = wanted.flatMap((fault) => {
      const reason = fault.missing?.(stand);
      return reason === undefined ? [] : `${fault.name}: ${reason}`;
    });
    for (const line of skipped) log(`left out: ${line}`);
    const possible = wanted.filter((fault) => fault.missing?.(stand) === undefined);
    if (possible.length === 0) throw new Error('none of the faults can happen here');
    const phases: PhaseResult[] = [];
    const untilMs = performance.now() + minutes * 60_000;
    for (const fault of endless(possible, random)) {
      if (performance.now() >= untilMs) break;
      const phase = await liveThrough(stand, {
        name: `p${phases.length + 1}`,
        fault,
        random,
        withSync: phases.length % syncEvery === syncEvery - 1,
      });
      phases.push(phase);
      log(lineOf(phase));
      if (phase.lost.length + phase.problems.length > 0) await tellTrouble(stand, phase, log);
    }
    const crashes = stand.roles.flatMap((role) => role.crashes);
    for (const crash of crashes) log(`ended by itself: ${crash}`);
    return {
      seed,
      minutes,
      tookMs: performance.now() - fromMs,
      loadAverage: loadavg()[2] ?? 0,
      phases,
      skipped,
      crashes,
    };
  } finally {
    await stand.close();
  }
}

/** Each fault once, then each once more, every time in another order. */
function* endless(possible: readonly Fault[], random: Random): Generator<Fault> {
  for (;;) yield* random.shuffled(possible);
}

function lineOf(phase: PhaseResult): string {
  const { fault, what, accepted, lost, repeated } = phase;
  return [
    `${fault} (${what}): ${accepted} calls accepted`,
    `${lost.length} lost`,
    `${repeated} repeated`,
    `longest stall ${seconds(phase.longestStallMs)}`,
    `longest wait ${seconds(phase.longestWait.waitMs)}`,
    `settled after ${seconds(phase.settledMs)}`,
  ].join(', ');
}

/** The problems, where the missing events were last seen, and what the roles have logged. */
async function tellTrouble(
  stand: Stand,
  { lost, longestWait, problems }: PhaseResult,
  log: (line: string) => void,
): Promise<void> {
  for (const problem of problems) log(`  PROBLEM: ${problem}`);
  for (const { destinationId, id } of lost) log(`  LOST: ${id}, for ${destinationId}`);
  const toExplain = lost.length > 0 ? lost.slice(0, mostExplained) : [longestWait];
  for (const { id, user } of toExplain) {
    const { stdout, stderr } = await stand.postrider.run(['explain', id, '--user', user]);
    log(`  ${id}: ${stdout}${stderr}`);
  }
  mkdirSync(logFolder, { recursive: true });
  for (const { name, running } of stand.roles)
    if (running !== undefined) writeFileSync(join(logFolder, `${name}.log`), running.log());
  log(`  the logs of the roles are in ${logFolder}`);
}

/** Whether all promises were kept. */
export function isClean({ phases, crashes }: SoakResult): boolean {
  const isKept = phases.every(({ lost, problems }) => lost.length === 0 && problems.length === 0);
  return isKept && crashes.length === 0;
}
