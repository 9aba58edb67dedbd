import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';

/**
 * Preloaded into a command: no wait of its own takes longer than this, so that giving up after ten seconds
 * can be seen after two. Shorter waits, and those of sockets, take their time.
 */
const longestMs = 2_000;

const { setTimeout: wait } = timers;
timers.setTimeout = (ms, value, options) => wait(Math.min(ms ?? 1, longestMs), value, options);
syncBuiltinESMExports();
