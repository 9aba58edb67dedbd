import { environment, type Environment } from '../environment.ts';
import { withAdmin } from '../kafka/admin.ts';
import { createKafka, type KafkaClient, type KafkaOptions } from '../kafka/client.ts';
import { reachKafka } from '../kafka/reach.ts';
import { createLogger, silentLogger, type Logger } from '../ops/log.ts';
import { shutdownSignal } from '../ops/process.ts';
import { printableLines } from '../printable.ts';
import { describeOddSettings } from '../settings/misspelt.ts';
import { readSettings } from '../settings/read.ts';
import type { Settings } from '../settings/table.ts';
import { createTopology, type Topology } from '../topology.ts';
import { explainConnection, kafkaOptions } from './connect/connection.ts';
import { createCredentials, type Credentials } from './connect/credentials.ts';
import { note, startStatusLine, type StatusLine, type Terminal } from './terminal/terminal.ts';

/** The environment of a command. Each part is created at first use, so `--help` needs no settings. */
export interface Context {
  readonly environment: Environment;
  readonly terminal: Terminal;
  readonly settings: Settings;
  readonly log: Logger;
  readonly credentials: Credentials;
  /** @throws PostriderError `setting-invalid` without KAFKA_BROKERS */
  readonly kafka: KafkaClient;
  /** Asks the cluster for its size where TOPIC_REPLICATION_FACTOR is not set. */
  topology(): Promise<Topology>;
  /**
   * Resolves once Kafka answers, and says so while it does not.
   * @throws PostriderError `kafka-unavailable` after `giveUpMs`; `setting-invalid` at once where Kafka
   * does not let us in
   */
  reachKafka(giveUpMs?: number): Promise<void>;
  /** Names variables that were probably meant to be settings. For an answer, `topology` does it. */
  warnOfSettings(): void;
  /** Lines of a command's answer, on stdout, without characters that control a terminal. */
  print(line: string): void;
  /** Beside the answer, on stderr. */
  note(line: string): void;
  /** Shows beside the answer how far the work is, until it is stopped. */
  status(describe: () => string): StatusLine;
  /** Aborted when the command is told to end: what can be cut off then ends early. */
  stopping(): AbortSignal;
  /** The same with some settings decided by the command, e.g. the brokers that `dev` started. */
  with(decided: Partial<Settings>): Context;
  /**
   * For a command that answers and ends: it gives up soon when Kafka is away, and the Kafka client logs
   * nothing, unless `isVerbose` or LOG_LEVEL says so.
   */
  forAnswer(isVerbose: () => boolean): Context;
}

/** Somebody waits for the answer. */
export const answerGiveUpMs = 10_000;

/** The environment, streams and stop signal that a command is started with. */
interface Surroundings {
  readonly env: Environment;
  readonly terminal: Terminal;
  readonly stopping: () => AbortSignal;
}

/** @param stopping asked by commands that can be cut off; by default, signals to the process abort it */
export function createContext(
  env: Environment = environment,
  terminal: Terminal = process,
  stopping: () => AbortSignal = untilShutdown,
): Context {
  return contextOf({ env, terminal, stopping }, () => readSettings(env));
}

function contextOf(
  surroundings: Surroundings,
  read: () => Settings,
  isVerbose?: () => boolean,
): Context {
  const { env, terminal, stopping } = surroundings;
  const { stdout, stderr } = terminal;
  const settings = once(read);
  const log = once(() =>
    createLogger({
      level: settings().logLevel,
      format: settings().logFormat,
      // https://no-color.org: set to anything but nothing.
      isColored: stderr.isTTY === true && (env['NO_COLOR'] ?? '') === '',
      destination: stderr.fd ?? stderr,
    }),
  );
  const isAnswer = isVerbose !== undefined;
  const clientLog = (): Logger =>
    !isAnswer || isVerbose() || settings().logLevel === 'debug' ? log() : silentLogger;
  const credentials = once(() => createCredentials(settings(), env, clientLog()));
  const access = (): KafkaOptions => kafkaOptions(settings(), env, credentials());
  const kafka = once(() => createKafka(access(), clientLog()));
  const reach = async (giveUpMs?: number): Promise<void> => {
    await reachKafka(access(), {
      giveUpMs,
      explain: (problem) => explainConnection(problem, settings()),
      onWaiting: (text) => {
        if (isAnswer) note(terminal, `postrider: ${text}`);
        else log().warn({}, text);
      },
    });
  };
  const warnOfSettings = (): void => {
    for (const hint of describeOddSettings(env))
      if (isAnswer) note(terminal, `postrider: ${hint}`);
      else log().warn({}, hint);
  };
  const topology = once(async () => {
    // Without brokers there is one sentence only, which knows of these variables too.
    const client = kafka();
    if (isAnswer) {
      warnOfSettings();
      await reach(answerGiveUpMs);
    }
    return topologyOf(settings(), client);
  });
  return {
    environment: env,
    terminal,
    get settings() {
      return settings();
    },
    get log() {
      return log();
    },
    get credentials() {
      return credentials();
    },
    get kafka() {
      return kafka();
    },
    topology,
    reachKafka: reach,
    warnOfSettings,
    print: (line) => {
      stdout.write(`${printableLines(line)}\n`);
    },
    note: (line) => {
      note(terminal, line);
    },
    status: (describe) => startStatusLine(terminal, describe),
    stopping: once(stopping),
    with: (decided) =>
      contextOf(surroundings, () => Object.freeze({ ...settings(), ...decided }), isVerbose),
    forAnswer: (verbose) => contextOf(surroundings, read, verbose),
  };
}

async function topologyOf(settings: Settings, kafka: KafkaClient): Promise<Topology> {
  const replicationFactor =
    settings.topicReplicationFactor ??
    Math.min(3, await withAdmin(kafka, (admin) => admin.brokerCount()));
  return createTopology({
    prefix: settings.topicPrefix,
    partitions: settings.topicPartitions,
    replicationFactor,
    retryTiersMs: settings.retryTiersMs,
    extraIngestTopics: settings.ingestTopics,
  });
}

function untilShutdown(): AbortSignal {
  const stopping = new AbortController();
  void shutdownSignal().then(() => {
    stopping.abort();
  });
  return stopping.signal;
}

function once<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
