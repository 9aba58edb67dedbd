import { PostriderError } from '../../errors.ts';
import { openAccess, type Access } from './access.ts';
import { LogInAccess, type LogInDeps } from './log-in-access.ts';
import { hasLogIn, isLoopback, type AccessSettings } from './settings.ts';

/** @throws PostriderError `setting-invalid`, also where everybody could come in from elsewhere */
export function createAccess(settings: AccessSettings, deps: LogInDeps): Access {
  if (hasLogIn(settings)) return new LogInAccess(settings, deps);
  if (isLoopback(settings.host)) return openAccess();
  throw new PostriderError(
    'setting-invalid',
    `CONSOLE_HOST is ${settings.host}, which other machines can reach, and log-in is off: set CONSOLE_OIDC_ISSUER or CONSOLE_TOKENS_FILE, or leave CONSOLE_HOST at 127.0.0.1`,
  );
}
