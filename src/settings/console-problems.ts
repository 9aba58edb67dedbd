import type { Settings } from './table.ts';

/** Of log-in by OpenID Connect, which is there as a whole or not at all. */
export function consoleProblems(settings: Settings): string[] {
  const { consoleOidcIssuer, consoleOidcClientId, consoleOidcClientSecret } = settings;
  const parts = [consoleOidcIssuer, consoleOidcClientId, consoleOidcClientSecret];
  if (parts.every((part) => part === undefined)) return [];
  if (parts.includes(undefined))
    return [
      'CONSOLE_OIDC_ISSUER, CONSOLE_OIDC_CLIENT_ID and CONSOLE_OIDC_CLIENT_SECRET are allowed only together',
    ];
  const problems: string[] = [];
  if (settings.consoleUrl === undefined)
    problems.push(
      'CONSOLE_URL is not set, allowed with CONSOLE_OIDC_ISSUER: the address that people are sent back to',
    );
  if (settings.consoleOidcOperators.length + settings.consoleOidcViewers.length === 0)
    problems.push(
      'CONSOLE_OIDC_OPERATORS and CONSOLE_OIDC_VIEWERS are not set, so nobody could log in; allowed: values of the claim in at least one',
    );
  return problems;
}
