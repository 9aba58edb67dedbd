import { summarize, type BenchResult } from '../measure.ts';
import { chosenDays } from '../variables.ts';
import { hasBar, isPassed, mostMs, type Felt, type Scene } from './day.ts';

/**
 * Ordinary bad days with real processes, brokers and sockets: what healthy destinations feel of dead customers, big
 * backlogs, a lost broker, a topic that somebody deleted, a resume of many, and a configuration with a long history.
 * Calls go through the gateway, at a steady rate.
 *
 * Some figures are smaller than those of the deployments that it is about, so that a whole run takes a quarter of an hour: 2,000
 * destinations fail (`bench heap` has 20,000), and a dedicated topic has 1,000 events waiting. The lost broker is measured
 * by silences.
 */
export async function benchOrdinaryDays(scene: Scene): Promise<BenchResult> {
  const felt: Felt[] = [];
  for (const [index, day] of chosenDays().entries()) {
    const startedMs = performance.now();
    const found = [await day.live({ ...scene, prefix: `${scene.prefix}${index}.` })].flat();
    felt.push(...found);
    const seconds = (performance.now() - startedMs) / 1_000;
    for (const each of found) scene.log(`${day.name} (${seconds.toFixed(0)} s): ${lineOf(each)}`);
  }
  return {
    name: "ordinary days: healthy destinations' p99, as a share of what it may be",
    required: 'at most 1, which is 1.5 times the p99 of alone and 100 ms more, on each day',
    ...summarize(felt.filter(hasBar).map(({ p99Ms, aloneP99Ms }) => p99Ms / mostMs(aloneP99Ms))),
    passed: felt.every(isPassed),
    absolutes: {},
    tables: [
      {
        title: 'From a call to the gateway to its arrival at a healthy destination',
        columns: ['day', 'alone, p99 ms', 'that day, p99 ms', 'at most', 'events', 'passed'],
        rows: felt.map((each) => [
          each.what,
          each.aloneP99Ms.toFixed(0),
          each.p99Ms.toFixed(0),
          hasBar(each) ? mostMs(each.aloneP99Ms).toFixed(0) : '–',
          String(each.events[0]),
          isPassed(each) ? 'yes' : '**no**',
        ]),
      },
    ],
    notes: felt.map(({ what, told }) => `- ${what}: ${told}.`),
  };
}

function lineOf(felt: Felt): string {
  const { what, aloneP99Ms, p99Ms, events, told } = felt;
  return `${isPassed(felt) ? 'ok' : 'MISSED'} ${what}: p99 ${p99Ms.toFixed(0)} ms of ${events[0]}, alone ${aloneP99Ms.toFixed(0)} ms of ${events[1]}; ${told}`;
}
