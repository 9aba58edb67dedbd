import { z } from 'zod';
import {
  followTokens,
  tokenFields,
  Tokens,
  type KnownToken,
  type TokensFile,
} from '../../http-api/tokens.ts';
import type { Clock } from '../../ops/clock.ts';
import type { Logger } from '../../ops/log.ts';
import { keyFor, macOf } from './signed.ts';

interface ConsoleToken extends KnownToken {
  readonly role: 'viewer' | 'operator';
}

/** The file of tokens that `CONSOLE_TOKENS_FILE` names. */
export const consoleTokens: TokensFile<ConsoleToken> = {
  setting: 'CONSOLE_TOKENS_FILE',
  fields: ['name', 'role', 'sha256'],
  schema: z.strictObject({
    name: tokenFields.name,
    role: z.enum(['viewer', 'operator'], 'must be viewer or operator'),
    sha256: tokenFields.sha256,
  }),
};

/** The console's tokens, each with a mark that a session remembers. */
export class MarkedTokens extends Tokens<ConsoleToken> {
  readonly #key: Buffer;

  /**
   * @param key the console's
   * @throws PostriderError `setting-invalid`
   */
  constructor(
    file: string,
    { key, clock, log }: { readonly key: Buffer; readonly clock: Clock; readonly log: Logger },
  ) {
    super(followTokens(consoleTokens, file, log), { api: 'the console', clock, log });
    this.#key = keyFor(key, 'token');
  }

  /** The mark of a token, which a session that was begun with it remembers. */
  markOf({ name, sha256 }: ConsoleToken): string {
    return macOf(this.#key, `${name}.${sha256}`);
  }

  /** Undefined: it was taken away, or exchanged. */
  byMark(mark: string): ConsoleToken | undefined {
    return this.find((token) => this.markOf(token) === mark);
  }
}
