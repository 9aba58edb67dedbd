import { runFleet, type Fleet } from './fleet.ts';

/** In a process of its own, because time is simulated for all of it. Argument 1 is the fleet as JSON; prints the result as JSON. */
const fleet = JSON.parse(process.argv[2] ?? '') as Fleet;
const result = await runFleet(fleet);
const { user, system } = process.cpuUsage();
process.stdout.write(`${JSON.stringify({ ...result, cpuMs: (user + system) / 1_000 })}\n`);
