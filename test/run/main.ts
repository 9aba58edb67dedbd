import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startBroker } from '../../src/dev/broker.ts';
import { CommandLine } from '../harness/command-line.ts';
import { useCompileCache } from '../harness/compile-cache.ts';
import { forgetNotChecked, notCheckedText } from '../harness/not-checked.ts';
import { checkerJobs } from './checkers.ts';
import type { JobResult } from './job.ts';
import { PassedTests } from './passed.ts';
import { jobsToRepeat, runAll } from './pool.ts';
import { lineOf, summaryOf } from './summary.ts';
import { brokerFiles, brokerJobs, unitFiles, unitJobs } from './tests.ts';

/**
 * `npm run check -- [PATH…]` and `npm test -- [PATH…]`: types, lint, format, unused code, the unit tests
 * and, with `--broker`, the tests on a real broker, several at a time.
 */
const root = fileURLToPath(new URL('../..', import.meta.url));
process.chdir(root);
const { values, paths } = readFlags();
const units = unitFiles().filter(isWanted);
const onBroker = values.broker ? brokerFiles().filter(isWanted) : [];
const isWhole = values.all || paths.length > 0;
const passedTests = new PassedTests(root);
const toRun = isWhole ? units : units.filter((file) => !passedTests.has(file));
// As they are now: a file that is changed during the run is to run again.
const states = new Map(toRun.map((file) => [file, passedTests.stateOf(file)]));

useCompileCache();
forgetNotChecked();
const startMs = performance.now();
const [stopBroker] = onBroker.length > 0 ? await Promise.all([provideBroker(), compile()]) : [];
const jobs = [...checkerJobs(paths), ...unitJobs(toRun), ...brokerJobs(onBroker)];
const tell = (result: JobResult): void => {
  console.log(lineOf(result));
};
const first = await runAll(jobs, tell);
const toRepeat = values['once-more'] ? jobsToRepeat(first) : [];
const repeated = toRepeat.length > 0 ? await runAll(toRepeat, tell) : [];
const results = first.map((each) => repeated.find(({ job }) => job === each.job) ?? each);
await stopBroker?.();

const passed = results.filter((result) => result.passed);
for (const file of passed.flatMap(({ job }) => job.files)) {
  const state = states.get(file);
  if (state !== undefined) passedTests.add(file, state);
}
passedTests.write();
if (toRun.length < units.length)
  console.log(
    `\nLeft out: ${units.length - toRun.length} test files that passed before and depend on nothing that has changed. --all runs them too.`,
  );
const wallS = (performance.now() - startMs) / 1000;
const saved = repeated.filter((result) => result.passed).map(({ job }) => job.name);
if (saved.length > 0)
  console.log(`\nfailed beside the other tests, and passed after them: ${saved.join(', ')}`);
console.log(notCheckedText() + summaryOf(results, values.times ? 'all' : 'dearest', wallS));
process.exitCode = passed.length === results.length ? 0 : 1;

/** @returns `paths`: folders and files of src and test; none for a run of everything */
function readFlags() {
  const commandLine = new CommandLine('check', '[PATH…] [--all] [--times] [--once-more]');
  const { values, positionals } = commandLine.read({
    allowPositionals: true,
    options: {
      all: { type: 'boolean', default: false },
      broker: { type: 'boolean', default: false },
      'once-more': { type: 'boolean', default: false },
      times: { type: 'boolean', default: false },
    },
  });
  const paths = positionals.flatMap((path) => {
    const found = [path, join('src', path), join('test', path)].filter((each) => existsSync(each));
    return found.length > 0
      ? found
      : commandLine.refuse(`${path} is no file or folder, also not in src or test`);
  });
  return { values, paths };
}

function isWanted(file: string): boolean {
  return paths.length === 0 || paths.some((path) => file === path || file.startsWith(`${path}/`));
}

/** All of the sources, for the processes that load them. What cannot be loaded, the tests tell. */
async function compile(): Promise<void> {
  await promisify(execFile)(process.execPath, ['test/run/compile-ahead.ts']).catch(() => undefined);
}

/** Starts a broker for all files, unless one is given. */
async function provideBroker(): Promise<(() => Promise<void>) | undefined> {
  if (process.env['KAFKA_BROKERS'] !== undefined) return undefined;
  const broker = await startBroker();
  process.env['KAFKA_BROKERS'] = broker.brokers.join(',');
  return () => broker.stop();
}
