import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Bento } from './build-bento.ts';
import { secret, writeKey } from './events.ts';
import { RunningPeer, type Peer, type Work } from './peer.ts';

/** In flight for each copy of the output that keeps its connections: as many as Bento keeps idle for a host. */
const inFlightOfCopy = 2;

/** Bento as people configure it: one output. */
export function plainBento(bento: Bento): Peer {
  return { name: 'Bento', start: (work) => start(bento, work, 1) };
}

/** Bento as somebody configures it who knows that an output keeps two idle connections for a host. */
export function tunedBento(bento: Bento): Peer {
  return {
    name: 'Bento, tuned',
    start: (work) => start(bento, work, Math.ceil(work.inFlight / inFlightOfCopy)),
  };
}

function start({ path }: Bento, work: Work, copies: number): RunningPeer {
  const destinations = work.destinations.map(({ id, url }) => [
    work.reads === 'calls' ? writeKey : id,
    { url, secret },
  ]);
  const env = {
    PATH: process.env['PATH'] ?? '',
    BROKERS: work.brokers.join(','),
    TOPIC: work.topic,
    GROUP: work.group,
    DESTINATIONS: JSON.stringify(Object.fromEntries(destinations)),
    COPIES: String(copies),
    IN_FLIGHT_EACH: String(Math.ceil(work.inFlight / copies)),
    BATCH_OF: String(work.batchOf ?? 1),
    TLS: String(work.destinations.some(({ url }) => url.startsWith('https:'))),
    CA_FILE: work.caFile,
  };
  const file = fileURLToPath(new URL(`bento/${configFor(work)}`, import.meta.url));
  return new RunningPeer([spawn(path, ['-c', file], { env })]);
}

function configFor({ reads, batchOf }: Work): string {
  if (reads === 'calls') return 'chain.yaml';
  return batchOf === undefined ? 'delivery.yaml' : 'batches.yaml';
}
