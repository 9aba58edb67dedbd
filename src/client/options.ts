import type { AcceptedCall } from './calls.ts';
import { longestDelayMs } from './clock.ts';
import { AnalyticsError } from './errors.ts';
import {
  invalid,
  isObject,
  readHttpUrl,
  refuseStrangers,
  strangerAmong,
} from './invalid-option.ts';
import { type KafkaTransportOptions, readKafkaOptions } from './kafka-options.ts';
import { maxBatchCalls } from '../event/limits.ts';
import { lossWarner } from './warnings.ts';

export interface AnalyticsOptions {
  /**
   * Calls in one batch; 1 turns batching off. Default 20. The smaller of `size` and `flushAt` counts, and 5,000,
   * which is the most that the gateway takes.
   */
  readonly size?: number | undefined;
  /** Another name for `size`. Default 20. */
  readonly flushAt?: number | undefined;
  /** Milliseconds after the last flush until queued calls are sent. Default 5,000. */
  readonly flushAfter?: number | undefined;
  /** Base URL of the gateway; batches go to `/v1/batch` below it. Default `http://127.0.0.1:8080`. */
  readonly endpoint?: string | undefined;
  /** Greatest number of calls that wait or are in flight; further calls are lost. Default 10,000. */
  readonly maxQueued?: number | undefined;
  /** `http` sends batches to a gateway; `kafka` writes straight to the ingest topic. Default `http`. */
  readonly transport?: 'http' | 'kafka' | undefined;
  /** For the transport `kafka`, which needs the package kafkajs. */
  readonly kafka?: KafkaTransportOptions | undefined;
  /** Accepts page calls that have only an `anonymousId`. Default false. */
  readonly anonymousPages?: boolean | undefined;
  /** Called once for each call that the gateway, or every in-sync replica of Kafka, has. */
  readonly onDelivered?: ((call: AcceptedCall) => void) | undefined;
  /**
   * Called once for each valid call that is lost: refused, not delivered in time, or not accepted because the
   * queue was full or closed, for which it is called before the method returns. Without it, a process warning
   * reports the first loss, and once a minute the number of further ones. It is not called for calls that are
   * made inside it and lost.
   */
  readonly onError?: ((error: AnalyticsError, call: AcceptedCall) => void) | undefined;
}

export interface CloseOptions {
  /** Milliseconds from 0; `Infinity` for as long as it takes. Default 60,000. */
  readonly timeoutMs?: number | undefined;
}

/** Complete and valid. */
export interface Options {
  readonly flushAt: number;
  readonly flushAfterMs: number;
  readonly maxQueued: number;
  readonly anonymousPages: boolean;
  readonly transport:
    | { readonly kind: 'http'; readonly url: string }
    | { readonly kind: 'kafka'; readonly kafka: KafkaTransportOptions };
  readonly onDelivered: (call: AcceptedCall) => void;
  readonly onError: (error: AnalyticsError, call: AcceptedCall) => void;
}

const known: Readonly<Record<keyof AnalyticsOptions, true>> = {
  endpoint: true,
  size: true,
  flushAt: true,
  flushAfter: true,
  maxQueued: true,
  anonymousPages: true,
  onDelivered: true,
  onError: true,
  transport: true,
  kafka: true,
};

const knownOfClose: Readonly<Record<keyof CloseOptions, true>> = { timeoutMs: true };

/** @throws AnalyticsError `invalid-option`, which names the option */
export function readOptions(writeKey: string, given: AnalyticsOptions): Options {
  if (typeof writeKey !== 'string' || writeKey === '') {
    throw invalid('writeKey', writeKey, 'the write key of a source');
  }
  if (!isObject(given)) throw invalid('options', given, 'an object');
  // With another library's option, such as `host`, calls would silently go to the default endpoint.
  refuseStrangers(given, known);
  const size = count('size', given.size, 20);
  const flushAt = count('flushAt', given.flushAt, 20);
  const maxQueued = count('maxQueued', given.maxQueued, 10_000);
  return Object.freeze({
    // No more than the queue holds: it would wait for calls that it cannot take.
    flushAt: Math.min(size, flushAt, maxQueued, maxBatchCalls),
    flushAfterMs: count('flushAfter', given.flushAfter, 5_000, longestDelayMs),
    maxQueued,
    anonymousPages: given.anonymousPages === true,
    transport: transportOf(given),
    onDelivered: callback('onDelivered', given.onDelivered) ?? (() => undefined),
    onError: callback('onError', given.onError) ?? lossWarner(),
  });
}

/** Returned, not thrown, because `close` rejects with it: `invalid-option`. */
export function closeTimeoutMs(given: CloseOptions): number | AnalyticsError {
  if (!isObject(given)) return invalid('the argument of close', given, 'an object');
  const stranger = strangerAmong(given, knownOfClose);
  if (stranger !== undefined) return stranger;
  const { timeoutMs } = given;
  const value: unknown = timeoutMs ?? 60_000;
  if (typeof value === 'number' && value >= 0) return value;
  return invalid('timeoutMs', timeoutMs, 'milliseconds from 0, or Infinity');
}

function transportOf(given: AnalyticsOptions): Options['transport'] {
  const { transport = 'http', endpoint = 'http://127.0.0.1:8080', kafka } = given;
  const isKafkaGiven = kafka !== undefined && (kafka as unknown) !== null;
  if (given.transport === undefined && isKafkaGiven) {
    const message =
      "kafka is given without a transport: add transport: 'kafka', or 'http' if calls are to go to the endpoint.";
    throw new AnalyticsError('invalid-option', message);
  }
  if (transport === 'http') return { kind: 'http', url: batchUrl(endpoint) };
  if ((transport as unknown) !== 'kafka') {
    throw invalid('transport', transport, "'http' or 'kafka'");
  }
  return { kind: 'kafka', kafka: readKafkaOptions(kafka) };
}

/** A path is kept, with or without a slash at its end. */
function batchUrl(endpoint: string): string {
  const url = readHttpUrl('endpoint', endpoint);
  // Whoever copies the address of a request gives its path too.
  const base = url.pathname.replace(/\/+$/, '').replace(/\/v1(?:\/batch)?$/, '');
  return `${url.origin}${base}/v1/batch`;
}

function count(name: string, given: unknown, fallback: number, most?: number): number {
  const value = given ?? fallback;
  if (
    !Number.isSafeInteger(value) ||
    (value as number) < 1 ||
    (value as number) > (most ?? Infinity)
  ) {
    throw invalid(name, given, most === undefined ? 'a whole number from 1' : `1 to ${most}`);
  }
  return value as number;
}

/** The callback, or undefined by default; null is the default too, as with numbers. */
function callback<T>(name: string, given: T): NonNullable<T> | undefined {
  if (given === undefined || given === null) return undefined;
  if (typeof given !== 'function') throw invalid(name, given, 'a function');
  return given;
}
