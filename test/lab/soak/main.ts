import { readFlags, usage, type Flags } from './flags.ts';
import { writeReport } from './report.ts';
import { isClean, soak } from './soak.ts';

/**
 * `npm run soak -- [--minutes N] [--seed N] [--fault NAME] [--report]`: real faults, one after the other, on
 * a deployment of real processes. Ends with 1 if an event was lost or another promise not kept, with 2 for
 * wrong flags.
 */
const { minutes, seed, fault, report } = flagsOrEnd();
const again = fault === undefined ? '' : ` --fault ${fault}`;
console.log(`npm run soak -- --minutes ${minutes} --seed ${seed}${again}`);
// Each role and each command that is begun hears of the end of this process by itself.
process.setMaxListeners(0);
const result = await soak({
  seed,
  minutes,
  ...(fault === undefined ? {} : { only: [fault] }),
  log: (line) => {
    console.log(`${new Date().toISOString().slice(11, 19)}  ${line}`);
  },
});
const sum = (of: (phase: (typeof result.phases)[number]) => number): number =>
  result.phases.reduce((total, phase) => total + of(phase), 0);
const problems = sum((phase) => phase.problems.length);
console.log(
  `${result.phases.length} faults, ${sum(({ accepted }) => accepted)} calls accepted, ` +
    `${sum(({ lost }) => lost.length)} lost, ${sum(({ repeated }) => repeated)} repeated, ${problems} problems`,
);
if (report) writeReport(result);
process.exit(isClean(result) ? 0 : 1);

function flagsOrEnd(): Flags {
  try {
    return readFlags(process.argv.slice(2));
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
    process.exit(2);
  }
}
