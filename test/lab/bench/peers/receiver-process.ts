import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeAuthority, makeCertificate } from '../../../delivery/http/certificates.ts';

/** The endpoints of all peers, as one process. */

export type Scheme = 'http' | 'https';
export type Ports = Readonly<Record<Scheme, number>>;

export interface Answering {
  /** How long an endpoint takes for an answer. */
  readonly afterMs: number;
  /** Says `Connection: close`, and closes. */
  readonly closes: boolean;
}

export type Question =
  | { readonly ask: 'reset'; readonly answering: Answering }
  | { readonly ask: 'mark'; readonly fromNumber: number }
  | { readonly ask: 'latencies'; readonly path: string }
  | { readonly ask: 'arrived' };

export interface PathArrived {
  readonly unique: number;
  /** Arrivals of an event beside its first. */
  readonly repeated: number;
  /** When the first event since the last mark arrived, epoch milliseconds. */
  readonly firstAfterMarkMs?: number | undefined;
}

/** Since the last reset. */
export interface Arrived {
  /** Connections. */
  readonly opened: number;
  /** Of them, those whose TLS session was resumed. */
  readonly resumed: number;
  readonly paths: Readonly<Record<string, PathArrived>>;
}

export interface Receiver {
  /** The certificate to trust, as PEM. */
  readonly caFile: string;
  /** Every index is a host of its own; up to `mostHosts`. */
  url(scheme: Scheme, hostIndex: number, path: string): string;
  /** Forgets what arrived, and answers as it is told from now on. */
  reset(answering?: Answering): Promise<void>;
  /** For all paths that something has arrived at. */
  mark(fromNumber: number): Promise<void>;
  /** From `sentMs` to arrival, of events from the last mark's number on. Milliseconds. */
  latenciesMs(path: string): Promise<number[]>;
  arrived(): Promise<Arrived>;
  close(): Promise<void>;
}

export const mostHosts = 100;
const atOnce: Answering = { afterMs: 0, closes: false };

export async function startReceiver(): Promise<Receiver> {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-peers-'));
  const caFile = join(folder, 'ca.pem');
  const authority = makeAuthority('Bench');
  const hosts = Array.from({ length: mostHosts }, (_, index) => hostOf(index));
  await writeFile(caFile, authority.cert);
  const certificate = makeCertificate({ by: authority, hosts });
  const child = fork(new URL('receiver.ts', import.meta.url), [JSON.stringify(certificate)]);
  const [ports] = (await once(child, 'message')) as [Ports];
  const ask = async (question: Question): Promise<unknown> => {
    child.send(question);
    const [answer] = (await once(child, 'message')) as [unknown];
    return answer;
  };
  return {
    caFile,
    url: (scheme, hostIndex, path) => `${scheme}://${hostOf(hostIndex)}:${ports[scheme]}/${path}`,
    reset: async (answering = atOnce) => {
      await ask({ ask: 'reset', answering });
    },
    mark: async (fromNumber) => {
      await ask({ ask: 'mark', fromNumber });
    },
    latenciesMs: async (path) => (await ask({ ask: 'latencies', path })) as number[],
    arrived: async () => (await ask({ ask: 'arrived' })) as Arrived,
    close: async () => {
      child.disconnect();
      await rm(folder, { recursive: true });
    },
  };
}

/** Every loopback address is an origin of its own. */
function hostOf(index: number): string {
  return `127.1.0.${index + 1}`;
}
