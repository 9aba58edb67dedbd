/**
 * Imported by every test process: ends a file that hangs, which the runner's own timeout does not.
 * A file takes a few minutes at most; one that hung has cost an hour and hidden what failed in it.
 */
const fileDeadlineMinutes = 10;

// The runner itself imports this too, and lives as long as all files together.
if (process.env['NODE_TEST_CONTEXT'] !== undefined)
  setTimeout(() => {
    process.stderr.write(
      `${process.argv[1] ?? ''} did not end in ${fileDeadlineMinutes} min; still open: ${process.getActiveResourcesInfo().join(', ')}\n`,
    );
    process.exit(1);
  }, fileDeadlineMinutes * 60_000).unref();
