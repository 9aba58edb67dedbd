import type { Writable } from 'node:stream';
import { pino } from 'pino';
import { PinoPretty } from 'pino-pretty';
import { asJsonOfPrintable, asPrintableJson } from '../printable.ts';

/** The part of pino that the code uses: fields first, then a sentence. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(fields: object): Logger;
}

export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export const logFormats = ['json', 'pretty'] as const;

export interface LogOptions {
  readonly level: (typeof logLevels)[number];
  readonly format: (typeof logFormats)[number];
  /** Colors for pretty lines. */
  readonly isColored?: boolean;
  /** A file descriptor, or a stream; stderr by default. */
  readonly destination?: number | Writable;
}

/**
 * Logs go to stderr, because stdout belongs to a command's answer. Logged text is escaped in both formats, so
 * that it cannot control a terminal.
 */
export function createLogger(options: LogOptions): Logger {
  const { destination = 2 } = options;
  const streamWrite = options.format === 'pretty' ? asJsonOfPrintable : asPrintableJson;
  const settings = {
    level: options.level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    hooks: { streamWrite },
  };
  return options.format === 'pretty'
    ? pino(settings, PinoPretty({ destination, sync: true, colorize: options.isColored === true }))
    : pino(
        settings,
        typeof destination === 'number'
          ? pino.destination({ dest: destination, sync: true })
          : destination,
      );
}

export const silentLogger: Logger = pino({ level: 'silent' });
