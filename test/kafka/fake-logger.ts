import type { Logger } from '../../src/ops/log.ts';

type LogMethod = (fields: object, message: string) => void;

/** Keeps what was logged. */
export class FakeLogger implements Logger {
  readonly lines: { level: string; fields: object; message: string }[] = [];
  readonly debug: LogMethod = this.#keep('debug');
  readonly info: LogMethod = this.#keep('info');
  readonly warn: LogMethod = this.#keep('warn');
  readonly error: LogMethod = this.#keep('error');

  child(): Logger {
    return this;
  }

  /** Lines that an operator sees. */
  get visible(): string[] {
    return this.lines
      .filter(({ level }) => level !== 'debug')
      .map(({ level, fields, message }) => `${level}: ${message} ${JSON.stringify(fields)}`);
  }

  #keep(level: string): LogMethod {
    return (fields, message) => {
      this.lines.push({ level, fields, message });
    };
  }
}
