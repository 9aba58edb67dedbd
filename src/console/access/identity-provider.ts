import {
  allowInsecureRequests,
  authorizationCodeGrant,
  AuthorizationResponseError,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  ClientError,
  ClientSecretBasic,
  ClientSecretPost,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
  ResponseBodyError,
  type ClientAuth,
  type Configuration,
} from 'openid-client';
import { claimValues, type IdentityClaims } from '../../http-api/claims.ts';
import type { Clock } from '../../ops/clock.ts';
import type { Logger } from '../../ops/log.ts';

interface ProviderSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Separated by spaces. */
  readonly scope: string;
  /** Asked for at `userinfo` where the ID token does not have it. */
  readonly roleClaim: string;
  /** The URL that the provider sends people back to. */
  readonly callback: string;
}

export interface OidcSettings extends Omit<ProviderSettings, 'callback' | 'roleClaim'> {
  readonly roles: RoleRules;
}

/** The state of a log-in that began. It stays in the browser until the person comes back. */
export interface LogInUnderWay {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** A log-in that did not come to an end. Its message is one sentence for whoever tried. */
export class LogInError extends Error {
  override readonly name = 'LogInError';
  readonly status: number;

  constructor(status: number, sentence: string, options?: ErrorOptions) {
    super(sentence, options);
    this.status = status;
  }
}

/** Somebody waits for it. */
const timeoutS = 10;
const failedForMs = 5_000;

/** OpenID Connect: the authorization code flow, with PKCE, `state` and `nonce`. */
export class IdentityProvider {
  readonly #settings: ProviderSettings;
  readonly #log: Logger;
  readonly #clock: Clock;
  /** The last question to the provider. Its failure is the answer for some seconds. */
  #asked: { readonly answer: Promise<Configuration>; failedMs: number } | undefined;

  constructor(settings: ProviderSettings, clock: Clock, log: Logger) {
    this.#settings = settings;
    this.#clock = clock;
    this.#log = log;
  }

  /** Asks the provider at start, so that the log tells an operator of a failure before anybody has to log in. */
  async check(): Promise<void> {
    await this.#configuration().catch(() => undefined);
  }

  /** @throws LogInError where the provider does not answer */
  async begin(): Promise<{ readonly url: URL; readonly underWay: LogInUnderWay }> {
    const configuration = await this.#configuration();
    const { scope, callback } = this.#settings;
    const underWay = {
      state: randomState(),
      nonce: randomNonce(),
      verifier: randomPKCECodeVerifier(),
    };
    const url = buildAuthorizationUrl(configuration, {
      redirect_uri: callback,
      scope,
      state: underWay.state,
      nonce: underWay.nonce,
      code_challenge: await calculatePKCECodeChallenge(underWay.verifier),
      code_challenge_method: 'S256',
    });
    return { url, underWay };
  }

  /**
   * Ends a log-in.
   * @param query of the callback, with its question mark
   * @throws LogInError
   */
  async finish(query: string, underWay: LogInUnderWay): Promise<LoggedInPerson> {
    const configuration = await this.#configuration();
    try {
      const tokens = await authorizationCodeGrant(
        configuration,
        new URL(query, this.#settings.callback),
        {
          expectedState: underWay.state,
          expectedNonce: underWay.nonce,
          pkceCodeVerifier: underWay.verifier,
        },
      );
      const claims = tokens.claims();
      if (claims === undefined) throw new Error('the answer holds no ID token');
      const idToken = tokens.id_token ?? '';
      const isKnown = claimValues(claims, this.#settings.roleClaim).length > 0;
      if (isKnown || configuration.serverMetadata().userinfo_endpoint === undefined)
        return { claims, idToken };
      const more = await fetchUserInfo(configuration, tokens.access_token, claims.sub);
      return { claims: { ...more, ...claims }, idToken };
    } catch (error) {
      throw this.#failure(error);
    }
  }

  /**
   * Found at the first log-in, or the first one for which it answers. However many strangers want to log in while it is
   * away, it is asked once in a few seconds.
   */
  #configuration(): Promise<Configuration> {
    if (this.#asked !== undefined && this.#clock.now() - this.#asked.failedMs < failedForMs)
      return this.#asked.answer;
    const asked = { answer: this.#find(), failedMs: Infinity };
    asked.answer.catch(() => {
      asked.failedMs = this.#clock.now();
    });
    this.#asked = asked;
    return asked.answer;
  }

  async #find(): Promise<Configuration> {
    const { issuer, clientId, clientSecret } = this.#settings;
    const url = new URL(issuer);
    const isPlain = url.protocol === 'http:';
    try {
      return await discovery(url, clientId, undefined, clientAuth(clientSecret), {
        timeout: timeoutS,
        // The settings allow it on loopback only.
        // eslint-disable-next-line @typescript-eslint/no-deprecated -- its author's way to warn
        execute: [enableNonRepudiationChecks, ...(isPlain ? [allowInsecureRequests] : [])],
      });
    } catch (error) {
      throw this.#failure(error);
    }
  }

  /** The error for the page does not repeat what the query says, because anybody can write a query. */
  #failure(error: unknown): LogInError {
    const { issuer } = this.#settings;
    const reason = reasonOf(error);
    this.#log.warn(
      { issuer, reason },
      'nobody can log in to the console with the identity provider',
    );
    if (error instanceof AuthorizationResponseError) {
      const why = error.error === 'access_denied' ? 'has refused the log-in' : 'reports an error';
      return new LogInError(403, `The identity provider ${why}.`, { cause: error });
    }
    if (error instanceof ResponseBodyError || isNotValid(error)) {
      const sentence = 'The answer of the identity provider is not valid; try to log in again.';
      return new LogInError(403, sentence, { cause: error });
    }
    const away = `The identity provider ${issuer} does not answer as it should; try again later.`;
    return new LogInError(503, away, { cause: error });
  }
}

/** Its answer came, and what is in it, or in the address, is wrong. */
function isNotValid(error: unknown): boolean {
  const code = error instanceof ClientError ? error.code : undefined;
  return code !== undefined && /^OAUTH_(?:INVALID_RESPONSE|JWT_|PARSE_ERROR|KEY_)/.test(code);
}

/** Authenticates the way that the provider's metadata ask for; by default, the one of OpenID Connect Core 9. */
function clientAuth(secret: string): ClientAuth {
  const [post, basic] = [ClientSecretPost(secret), ClientSecretBasic(secret)];
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    (methods.includes('client_secret_basic') ? basic : post)(server, ...rest);
  };
}

/** With its causes: `fetch failed` says nothing by itself. */
function reasonOf(error: unknown): string {
  const reasons: string[] = [];
  for (let each = error; each instanceof Error; each = each.cause) reasons.push(each.message);
  return reasons.join(': ');
}

interface LoggedInPerson {
  readonly claims: IdentityClaims;
  /** The text that the provider has signed: it proves to the API who asks. */
  readonly idToken: string;
}

/** The claim, and its values, that give each role. */
interface RoleRules {
  /** Its name, or the way to it: `realm_access.roles`. */
  readonly claim: string;
  readonly operators: readonly string[];
  readonly viewers: readonly string[];
}

/** Undefined: neither, so nothing may be seen. */
export function roleOf(
  claims: IdentityClaims,
  { claim, operators, viewers }: RoleRules,
): 'operator' | 'viewer' | undefined {
  const values = claimValues(claims, claim);
  if (values.some((value) => operators.includes(value))) return 'operator';
  return values.some((value) => viewers.includes(value)) ? 'viewer' : undefined;
}
