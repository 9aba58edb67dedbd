import { pressEvenly, pressFully } from './gateway-load.ts';

/** The load, in a process of its own: argument 1 says which, as JSON. At an even pace it prints the p99 in ms. */
interface Press {
  readonly port: number;
  readonly callsPerRequest: number;
  /** Undefined: as many as are answered. */
  readonly requestsPerSecond?: number;
  readonly forMs?: number;
}

const {
  port,
  callsPerRequest,
  requestsPerSecond,
  forMs = 0,
} = JSON.parse(process.argv[2] ?? '') as Press;
process.on('disconnect', () => process.exit());

if (requestsPerSecond === undefined) {
  await pressFully(port, callsPerRequest);
} else {
  const latencies = await pressEvenly(port, { callsPerRequest, requestsPerSecond, forMs });
  const p99 = latencies.toSorted((a, b) => a - b)[Math.floor(latencies.length * 0.99)];
  process.stdout.write(`${p99 ?? NaN}\n`);
}
process.exit();
