import type { SASLOptions } from 'kafkajs';
import { PostriderError } from '../errors.ts';
import { silentLogger } from '../ops/log.ts';
import { waitUnlessAborted } from '../ops/wait.ts';
import { adminError } from './failure.ts';
import { createKafka, type KafkaClient, type KafkaOptions } from './client.ts';
import { isRefusedLogin } from './kafkajs/current-access.ts';

export interface ReachOptions {
  /** Undefined: never. */
  readonly giveUpMs?: number | undefined;
  /** Once it takes longer than somebody expects who waits, and every now and then from there on. */
  readonly onWaiting: (text: string) => void;
  /** For what waiting does not mend: a sentence that names what to look at. */
  readonly explain: (problem: ConnectionProblem) => string;
}

const firstWordMs = 1_000;
const nextWordMs = 10_000;
const tryAgainMs = 500;

/**
 * Resolves when a broker has answered a question that it answers only to whom it lets in, in the version that
 * readers and producers ask it in.
 * @throws PostriderError `kafka-unavailable` after `giveUpMs`; at once what waiting does not mend,
 * `setting-invalid` where it is about certificates and logins, `kafka-refused` for a broker that is too old
 */
export async function reachKafka(kafka: KafkaOptions, options: ReachOptions): Promise<void> {
  const { giveUpMs, onWaiting, explain } = options;
  const client = createKafka(kafka, silentLogger);
  const stop = new AbortController();
  let reason = 'Kafka cannot be reached: no broker has answered yet';
  const attempts = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      try {
        await askOnce(client);
        return;
      } catch (error) {
        const problem = await findConnectionProblem(error, kafka);
        if (problem !== undefined) {
          throw new PostriderError('setting-invalid', explain(problem), { cause: error });
        }
        if (!(error instanceof PostriderError && error.retry)) throw error;
        reason = error.message;
      }
      await waitUnlessAborted(tryAgainMs, stop.signal);
    }
  };
  const words = async (): Promise<void> => {
    for (let waitMs = firstWordMs; ; waitMs = nextWordMs) {
      await waitUnlessAborted(waitMs, stop.signal);
      if (stop.signal.aborted) return;
      onWaiting(`${reason}; trying again`);
    }
  };
  const giveUp = async (afterMs: number): Promise<void> => {
    await waitUnlessAborted(afterMs, stop.signal);
    if (!stop.signal.aborted) throw new PostriderError('kafka-unavailable', reason);
  };
  try {
    void words();
    await Promise.race(giveUpMs === undefined ? [attempts()] : [attempts(), giveUp(giveUpMs)]);
  } finally {
    stop.abort();
  }
}

/** Without retries, so that the reason of every failure is known at once. */
async function askOnce(client: KafkaClient): Promise<void> {
  const cluster = client.openCluster();
  try {
    await cluster.refresh([]);
  } catch (error) {
    throw adminError(error);
  } finally {
    cluster.close();
  }
}

/** Why a broker that is there cannot be talked to: what only a person can mend, in its settings or ours. */
export type ConnectionProblem =
  | 'broker-untrusted'
  | 'broker-certificate-expired'
  | 'broker-certificate-for-other-host'
  | 'client-certificate-refused'
  | 'credentials-refused'
  | 'mechanism-not-offered'
  | 'sasl-not-offered'
  | 'sasl-wanted'
  | 'tls-not-offered'
  | 'tls-wanted';

/** The names of Node for what is wrong with the broker's certificate, and of brokers for ours. */
const byCode: Readonly<Record<string, ConnectionProblem>> = {
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'broker-untrusted',
  UNABLE_TO_GET_ISSUER_CERT: 'broker-untrusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'broker-untrusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'broker-untrusted',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'broker-untrusted',
  CERT_SIGNATURE_FAILURE: 'broker-untrusted',
  CERT_HAS_EXPIRED: 'broker-certificate-expired',
  CERT_NOT_YET_VALID: 'broker-certificate-expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'broker-certificate-for-other-host',
  UNSUPPORTED_SASL_MECHANISM: 'mechanism-not-offered',
  ILLEGAL_SASL_STATE: 'sasl-not-offered',
};
const refusesOurCertificate =
  /ALERT_(BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|CERTIFICATE_|UNKNOWN_CA|ACCESS_DENIED)/;

/**
 * The meaning of `error`, from connecting with `options`; undefined where waiting may help. A broker that
 * hangs up says nothing, so the same is tried with less: without a login, and with TLS the other way
 * round. No name or password is sent on the way.
 */
export async function findConnectionProblem(
  error: unknown,
  options: KafkaOptions,
): Promise<ConnectionProblem | undefined> {
  const chain = causesOf(error);
  for (const cause of chain) {
    const problem = problemOf(cause);
    if (problem !== undefined) return problem;
  }
  const hungUp = chain.some(({ name, code }) => {
    return name === 'KafkaJSConnectionClosedError' || code === 'ECONNRESET';
  });
  return hungUp ? askDifferently(options) : undefined;
}

type Cause = Error & { readonly type?: unknown; readonly code?: unknown };

function causesOf(error: unknown): Cause[] {
  const causes: Cause[] = [];
  for (let each = error; each instanceof Error && causes.length < 8; each = each.cause) {
    causes.push(each);
  }
  return causes;
}

function problemOf(cause: Cause): ConnectionProblem | undefined {
  const { name, type, code } = cause;
  if (name === 'KafkaJSSASLAuthenticationError')
    return isRefusedLogin(cause) ? 'credentials-refused' : undefined;
  const known = typeof type === 'string' ? byCode[type] : undefined;
  if (known !== undefined || typeof code !== 'string') return known;
  return refusesOurCertificate.test(code) ? 'client-certificate-refused' : byCode[code];
}

async function askDifferently(options: KafkaOptions): Promise<ConnectionProblem | undefined> {
  const { ssl, sasl, ...bare } = options;
  if (ssl === undefined) {
    // Nothing is sent to it but the question which versions it speaks.
    const speaksTls = await errorOfConnecting({
      ...bare,
      ssl: () => ({ rejectUnauthorized: false }),
    });
    if (speaksTls === undefined || isAboutCertificates(speaksTls)) return 'tls-wanted';
  } else if ((await errorOfConnecting(bare)) === undefined) return 'tls-not-offered';
  if (sasl !== undefined) return undefined;
  const answer = await errorOfConnecting({ ...options, sasl: () => nobody });
  return causesOf(answer).some(({ type }) => type === 'UNSUPPORTED_SASL_MECHANISM')
    ? 'sasl-wanted'
    : undefined;
}

/** It cannot be offered anywhere, so a broker with logins lists what it offers, and none is tried. */
const nobody = { mechanism: 'none', username: '', password: '' } as unknown as SASLOptions;

function isAboutCertificates(error: unknown): boolean {
  return causesOf(error).some((cause) => problemOf(cause) === 'client-certificate-refused');
}

async function errorOfConnecting(options: KafkaOptions): Promise<unknown> {
  const kafka: KafkaClient = createKafka({ ...options, retries: 0 }, silentLogger);
  const admin = kafka.admin();
  try {
    await admin.connect();
    return undefined;
  } catch (error) {
    return error ?? new Error('no reason');
  } finally {
    await admin.disconnect().catch(() => undefined);
  }
}
