import { execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { makeAuthority, makeCertificate } from '../../delivery/http/certificates.ts';
import { cpuPerUnit } from './compare.ts';
import { medianOf, roleArgv, runMeasured, summarize } from './measure.ts';
import type { BenchResult, Measurement } from './measure.ts';
import { bodyText, certifiedName, type TlsLoad } from './tls-load.ts';
import type { ReceiverOptions } from './tls-receiver.ts';

/**
 * What a delivery over TLS costs: on kept connections, with a full handshake, with a resumed session, and to
 * endpoints that get an event every 40 s; against undici as it comes, and against Go's net/http, which Bento sends
 * with. Needs Go.
 */

export interface TlsBenchOptions {
  /** Default 5. */
  readonly rounds?: number;
  readonly log?: (line: string) => void;
}

const run = promisify(execFile);
const arms = ['kept', 'full', 'resumed', 'sparse'] as const;
type Arm = (typeof arms)[number];

const receiverOf: Readonly<Record<Arm, Pick<ReceiverOptions, 'closes' | 'forgets'>>> = {
  kept: { closes: false, forgets: false },
  full: { closes: true, forgets: true },
  resumed: { closes: true, forgets: false },
  sparse: { closes: false, forgets: false },
};
/** Fewer would not keep the process busy enough to be compiled, as that of a worker is. */
const sparseOrigins = 1_000;
const periodMs = 40_000;

type Size = Pick<TlsLoad, 'origins' | 'events' | 'warmUp' | 'inFlight' | 'everyMs'>;
const busy = { origins: 1, inFlight: 64, everyMs: 0 };
const sizes: Readonly<Record<Arm, Size>> = {
  kept: { ...busy, events: 60_000, warmUp: 20_000 },
  full: { ...busy, events: 18_000, warmUp: 6_000 },
  resumed: { ...busy, events: 18_000, warmUp: 6_000 },
  sparse: {
    origins: sparseOrigins,
    inFlight: 64,
    everyMs: periodMs / sparseOrigins,
    events: 4 * sparseOrigins,
    warmUp: sparseOrigins,
  },
};

/** CPU µs a delivery. */
interface Sample {
  readonly own: number;
  readonly go: number;
  /** undici as it comes; where connections are kept. */
  readonly bare: number | undefined;
}

export async function benchTls({ rounds = 5, log }: TlsBenchOptions): Promise<BenchResult[]> {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-tls-'));
  const receivers: ReturnType<typeof fork>[] = [];
  try {
    const authority = makeAuthority('Bench Authority');
    const authorityFile = join(folder, 'authority.pem');
    await writeFile(authorityFile, authority.cert);
    const certificate = makeCertificate({ by: authority, hosts: [certifiedName] });
    const client = await buildGo(folder);
    const measure = async (arm: Arm): Promise<Sample> => {
      const options: ReceiverOptions = { ...certificate, ...receiverOf[arm] };
      const script = new URL('tls-receiver.ts', import.meta.url);
      const receiver = fork(script, [JSON.stringify(options)]);
      receivers.push(receiver);
      const [port] = (await once(receiver, 'message')) as [number];
      const load: TlsLoad = { ...sizes[arm], port, authorityFile, resumes: arm === 'resumed' };
      // They run side by side where they only wait, and otherwise one after the other.
      const ofOwn = (): Promise<Measurement> => runNode('tls-role.ts', load);
      const ofGo = (): Promise<Measurement> => runGo(client, load);
      const [own, go] =
        arm === 'sparse' ? await Promise.all([ofOwn(), ofGo()]) : [await ofOwn(), await ofGo()];
      const bare = arm === 'kept' ? await runNode('tls-bare.ts', load) : undefined;
      receiver.kill();
      const sample = {
        own: cpuPerUnit(own),
        go: cpuPerUnit(go),
        bare: bare && cpuPerUnit(bare),
      };
      log?.(`${arm}: ${textOf(sample.own)}; Go ${textOf(sample.go)}; bare ${textOf(sample.bare)}`);
      return sample;
    };
    const samples: Record<Arm, Sample[]> = { kept: [], full: [], resumed: [], sparse: [] };
    for (let round = 0; round < rounds; round += 1)
      for (const arm of arms)
        // Each takes minutes of waiting.
        if (arm !== 'sparse' || round < 2) samples[arm].push(await measure(arm));
    return resultsOf(samples);
  } finally {
    for (const receiver of receivers) receiver.kill();
    await rm(folder, { recursive: true });
  }
}

function textOf(us: number | undefined): string {
  return us === undefined ? '–' : `${us.toFixed(1)} µs`;
}

function resultsOf(samples: Readonly<Record<Arm, readonly Sample[]>>): BenchResult[] {
  const { kept, full, resumed } = samples;
  const ofBare = kept.map(({ own, bare = NaN }) => bare / own);
  const ofFull = resumed.map(({ own }, round) => own / (full[round]?.own ?? NaN));
  return [
    {
      name: 'TLS, kept connections: deliveries a CPU second, against undici as it comes',
      required: `at least ${leastOfBare}`,
      ...summarize(ofBare),
      passed: medianOf(ofBare) >= leastOfBare,
      absolutes: {
        'undici, CPU µs a delivery': medianOf(kept.map(({ bare = NaN }) => bare)).toFixed(1),
        'ours, CPU µs a delivery': medianOf(kept.map(({ own }) => own)).toFixed(1),
      },
    },
    result(
      'CPU time of a delivery with a resumed session, as a share of a full handshake',
      0.5,
      ofFull,
      {
        'full, CPU µs a delivery': medianOf(full.map(({ own }) => own)),
        'resumed, CPU µs a delivery': medianOf(resumed.map(({ own }) => own)),
      },
      [keyExchange],
    ),
    ...arms.map((arm) =>
      result(
        `${titles[arm]}: CPU time of a delivery, as a share of Go's`,
        bars[arm],
        samples[arm].map(({ own, go }) => own / go),
        {
          'ours, CPU µs a delivery': medianOf(samples[arm].map(({ own }) => own)),
          "Go's, CPU µs a delivery": medianOf(samples[arm].map(({ go }) => go)),
        },
        arm === 'kept' ? [] : [keyExchange],
      ),
    ),
  ];
}

const leastOfBare = 0.9;
const keyExchange =
  'Most of a handshake is the exchange of keys, in OpenSSL. A resumed session exchanges keys as well, and saves the certificate. [HTTP](design/http.md) says what each part takes, and what is done so that handshakes are rare.';

const titles: Readonly<Record<Arm, string>> = {
  kept: 'kept connections',
  full: 'a full handshake for each',
  resumed: 'a resumed session for each',
  sparse: 'an event every 40 s for each endpoint',
};

const bars: Readonly<Record<Arm, number | undefined>> = {
  kept: undefined,
  full: 1.2,
  resumed: undefined,
  sparse: 1,
};

function result(
  name: string,
  most: number | undefined,
  ratios: readonly number[],
  absolutes: Readonly<Record<string, number>>,
  notes: readonly string[],
): BenchResult {
  const texts = Object.entries(absolutes).map(([what, us]) => [what, us.toFixed(1)] as const);
  return {
    name: `TLS, ${name}`,
    required: most === undefined ? 'nothing, only stated' : `at most ${most}`,
    ...summarize(ratios),
    passed: most === undefined || medianOf(ratios) <= most,
    absolutes: Object.fromEntries(texts),
    notes,
  };
}

function runNode(script: string, load: TlsLoad): Promise<Measurement> {
  process.env['NODE_EXTRA_CA_CERTS'] = load.authorityFile;
  return runMeasured(new URL(script, import.meta.url), load, roleArgv);
}

async function buildGo(folder: string): Promise<string> {
  const client = join(folder, 'tls-client');
  const cwd = fileURLToPath(new URL('tls-go/', import.meta.url));
  await run('go', ['build', '-o', client, '.'], { cwd });
  return client;
}

async function runGo(client: string, load: TlsLoad): Promise<Measurement> {
  const { stdout } = await run(client, [JSON.stringify(load), bodyText]);
  return JSON.parse(stdout) as Measurement;
}
