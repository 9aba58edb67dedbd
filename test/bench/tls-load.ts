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

export function urlOf({ port, origins }: TlsLoad, event: number): string {
  return `https://e${event % origins}.bench.example:${port}/events`;
}

/** Sends all events: so many at a time, or one after each pause. */
export function sendAll(load: TlsLoad, send: (event: number) => Promise<void>): void {
  let next = 0;
  if (load.everyMs > 0) {
    const timer = setInterval(() => {
      void send(next);
      next += 1;
      if (next === load.events) clearInterval(timer);
    }, load.everyMs);
    return;
  }
  const work = async (): Promise<void> => {
    while (next < load.events) await send(next++);
  };
  for (let i = 0; i < load.inFlight; i += 1) void work();
}
