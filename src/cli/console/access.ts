import type { ConsoleDeps } from '../../console/console.ts';
import type { OidcSettings } from '../../console/access/identity-provider.ts';
import type { Settings } from '../../settings/table.ts';

/** The people who may use the console, according to the settings. */
export function consoleAccess(settings: Settings): ConsoleDeps['access'] {
  return {
    host: settings.consoleHost,
    url: settings.consoleUrl,
    sessionKey: settings.consoleSessionKey,
    tokensFile: settings.consoleTokensFile,
    oidc: oidcSettings(settings),
    frameAncestors: settings.consoleFrameAncestors,
  };
}

export function consoleBrand(settings: Settings): ConsoleDeps['brand'] {
  return {
    name: settings.consoleBrandName,
    accentColor: settings.consoleAccentColor,
    logoFile: settings.consoleLogoFile,
    backUrl: settings.consoleBackUrl,
  };
}

/** The three are set together. */
function oidcSettings(settings: Settings): OidcSettings | undefined {
  const { consoleOidcIssuer, consoleOidcClientId, consoleOidcClientSecret } = settings;
  if (consoleOidcIssuer === undefined) return undefined;
  if (consoleOidcClientId === undefined || consoleOidcClientSecret === undefined) return undefined;
  return {
    issuer: consoleOidcIssuer,
    clientId: consoleOidcClientId,
    clientSecret: consoleOidcClientSecret,
    scope: settings.consoleOidcScope,
    roles: {
      claim: settings.consoleOidcRoleClaim,
      operators: settings.consoleOidcOperators,
      viewers: settings.consoleOidcViewers,
    },
  };
}
