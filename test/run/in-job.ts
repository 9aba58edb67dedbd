import { readFileSync, writeFileSync } from 'node:fs';

/**
 * Preloaded into the process of a job. When the process ends, its CPU time is written to the file that
 * `RUN_USAGE_FILE` names. A process that hangs ends itself and says what is still open: the test
 * runner's own timeout does not end one whose tests are done. On a busy machine, one that does not hang may take
 * long, so it is its CPU time that tells.
 */
const patienceMinutes = 10;
const leastCpuS = 20;
const file = process.env['RUN_USAGE_FILE'];
// The children of this process are part of its figures, and have no file of their own.
delete process.env['RUN_USAGE_FILE'];
// A process that a test forks gets these arguments too, and would report as a run of tests of its own.
process.execArgv = [];

if (file !== undefined) {
  process.on('exit', () => {
    writeFileSync(file, String(cpuSeconds()));
  });
  let cpuS = 0;
  setInterval(() => {
    const beforeS = cpuS;
    cpuS = cpuSeconds();
    if (cpuS - beforeS > leastCpuS) return;
    process.stderr.write(
      `${process.argv.slice(1).join(' ')} has hardly computed for ${patienceMinutes} min; still open: ${[...new Set(process.getActiveResourcesInfo())].join(', ')}\n`,
    );
    process.exit(1);
  }, patienceMinutes * 60_000).unref();
}

/** CPU time of this process and, on Linux, of its children that have ended. */
function cpuSeconds(): number {
  if (process.platform !== 'linux') {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  }
  // Behind the name in brackets: user and system time, and those of the children, in hundredths.
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0) / 100;
}
