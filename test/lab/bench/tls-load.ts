import type { LookupAddress } from 'node:dns';
import type { Measurement } from './measure.ts';

/** What the processes of the bench `tls` agree on. */
export interface TlsLoad {
  readonly port: number;
  /** So many names of one server are asked in turn. */
  readonly origins: number;
  readonly events: number;
  /** The first ones are not measured. */
  readonly warmUp: number;
  readonly inFlight: number;
  /** Between two events; 0: as fast as they are answered. */
  readonly everyMs: number;
  /** A file of trusted authorities. */
  readonly authorityFile: string;
  /** Whether Go resumes sessions, which it does not unless it is told to. */
  readonly resumes: boolean;
}

export const bodyText: string = JSON.stringify({
  type: 'track',
  event: 'Order',
  note: 'x'.repeat(500),
});

/** What its certificate is for, as those of endpoints are: few names, and no addresses. */
export const certifiedName = '*.bench.example';

/** All names lead to this machine. */
export function lookUp(callback: (error: null, addresses: LookupAddress[]) => void): void {
  process.nextTick(callback, null, thisMachine);
}

const thisMachine = [{ address: '127.0.0.1', family: 4 }];

export function urlOf({ port, origins }: TlsLoad, event: number): string {
  return `https://e${event % origins}.bench.example:${port}/events`;
}

/**
 * Sends all events, so many at a time, or one after each pause; prints what it took as JSON, and ends the process.
 * @param send calls back when the event is delivered
 */
export function measureSending(
  load: TlsLoad,
  send: (event: number, delivered: () => void) => void,
): void {
  let delivered = 0;
  let next = 0;
  let warm: ReturnType<typeof state> | undefined;
  // As they come: a process that looked for itself would use more CPU time than a few events take.
  const count = (): void => {
    delivered += 1;
    if (load.everyMs === 0) sendNext();
    if (delivered === load.warmUp) warm = state();
    if (delivered === load.events && warm !== undefined) finish(load, warm);
  };
  const sendNext = (): void => {
    if (next < load.events) send(next++, count);
  };
  if (load.everyMs === 0) for (let i = 0; i < load.inFlight; i += 1) sendNext();
  else setInterval(sendNext, load.everyMs);
}

function state(): { cpu: NodeJS.CpuUsage; atMs: number; rssBytes: number } {
  return {
    cpu: process.cpuUsage(),
    atMs: performance.now(),
    rssBytes: process.memoryUsage.rss(),
  };
}

function finish({ events, warmUp }: TlsLoad, warm: ReturnType<typeof state>): void {
  const { user, system } = process.cpuUsage(warm.cpu);
  const measurement: Measurement = {
    deliveries: events - warmUp,
    cpuUs: user + system,
    wallMs: performance.now() - warm.atMs,
    rssBytes: process.memoryUsage.rss(),
    rssAtWarmUpBytes: warm.rssBytes,
  };
  process.stdout.write(`${JSON.stringify(measurement)}\n`, () => process.exit());
}
