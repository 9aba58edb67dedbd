import { errors, jwtVerify, type JWTPayload } from 'jose';
import { claimValues, personName } from '../../http-api/claims.ts';
import { ProblemError } from '../../http-api/problem.ts';
import type { Clock } from '../../ops/clock.ts';
import type { Logger } from '../../ops/log.ts';
import { scopes, wrongToken, type Caller } from './caller.ts';
import { ProviderKeys } from './provider-keys.ts';

/** The identity provider whose tokens the API takes. */
export interface ApiOidcSettings {
  readonly issuer: string;
  /** The audience of access tokens. Undefined: only people who come through the console are let in. */
  readonly audience: string | undefined;
  readonly scopeClaim: string;
  /** The claim that binds an access token to customers. Undefined: none is bound. */
  readonly customersClaim: string | undefined;
  /** The console's operators, who bring the ID token of their log-in there. */
  readonly operators:
    | {
        /** The console's. */
        readonly clientId: string;
        readonly roleClaim: string;
        readonly values: readonly string[];
      }
    | undefined;
}

/** Signatures that only the provider can make: none of a shared secret, and not none. */
const algorithms = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];
/** Clocks may be so far apart. */
const toleranceS = 30;
/** The types that are let in: a request to log somebody out, which a provider signs too, has a type of its own. */
const types: ReadonlySet<unknown> = new Set([
  undefined,
  'jwt',
  'at+jwt',
  'application/jwt',
  'application/at+jwt',
]);

/** True for a text in the form of a JSON Web Token that is signed. */
export function isJsonWebToken(token: string): boolean {
  return /^eyJ[\w-]*\.[\w-]*\.[\w-]*$/.test(token);
}

/** Access tokens of an identity provider, and the ID tokens of those who operate in the console. */
export class JsonWebTokens {
  readonly #settings: ApiOidcSettings;
  readonly #keys: ProviderKeys;
  readonly #clock: Clock;
  readonly #log: Logger;

  constructor(settings: ApiOidcSettings, { clock, log }: { clock: Clock; log: Logger }) {
    this.#settings = settings;
    this.#keys = new ProviderKeys(settings.issuer, clock);
    this.#clock = clock;
    this.#log = log;
  }

  /** @throws ProblemError 401, 403 for one that names no customers, 503 while the provider does not answer */
  async callerOf(token: string): Promise<Caller> {
    const claims = await this.#verified(token);
    const { audience, operators } = this.#settings;
    const audiences = [claims.aud].flat();
    if (audience !== undefined && audiences.includes(audience)) return this.#callerOfAccess(claims);
    // Only an ID token for the console is left; of several audiences, it was issued to one.
    if (claims['azp'] !== undefined && claims['azp'] !== operators?.clientId)
      throw wrongToken('The token was issued to somebody else than the console.');
    return this.#operatorOf(claims);
  }

  async #verified(token: string): Promise<JWTPayload> {
    const { issuer, audience, operators } = this.#settings;
    const audiences = [audience, operators?.clientId].filter((each) => each !== undefined);
    try {
      const { payload, protectedHeader } = await jwtVerify(token, this.#keys.keyOf, {
        algorithms,
        issuer,
        audience: audiences,
        requiredClaims: ['sub', 'exp'],
        clockTolerance: toleranceS,
        currentDate: new Date(this.#clock.now()),
      });
      if (!types.has(protectedHeader.typ?.toLowerCase()))
        throw wrongToken('The token is neither an access token nor an ID token.');
      return payload;
    } catch (error) {
      throw error instanceof ProblemError ? error : this.#problemOf(error);
    }
  }

  #problemOf(error: unknown): ProblemError {
    const { issuer } = this.#settings;
    if (error instanceof errors.JWTExpired) return wrongToken('The token has expired.');
    if (error instanceof errors.JWTClaimValidationFailed)
      return wrongToken(claimSentence(error.claim));
    if (error instanceof errors.JOSEAlgNotAllowed)
      return wrongToken(
        `The token is signed in a way that is not allowed; allowed: ${algorithms.join(', ')}.`,
      );
    if (error instanceof errors.JWKSNoMatchingKey)
      return wrongToken(`The token is signed with a key that ${issuer} does not have.`);
    if (error instanceof errors.JWKSMultipleMatchingKeys)
      return wrongToken(`The token does not say which of the keys of ${issuer} has signed it.`);
    if (error instanceof errors.JWSSignatureVerificationFailed)
      return wrongToken("The token's signature is wrong.");
    if (error instanceof errors.JWSInvalid || error instanceof errors.JWTInvalid)
      return wrongToken('The token is no JSON Web Token that is signed.');
    if (error instanceof errors.JOSENotSupported)
      return wrongToken('The token asks for something that the API does not know.');
    this.#log.warn({ err: error, issuer }, 'no key of the identity provider can be had');
    return new ProblemError(
      503,
      `The identity provider ${issuer} does not answer as it should; try again later.`,
      { retryAfterS: 5 },
    );
  }

  #callerOfAccess(claims: JWTPayload): Caller {
    const { scopeClaim, customersClaim } = this.#settings;
    const given = new Set(claimValues(claims, scopeClaim).flatMap((text) => text.split(' ')));
    const who = this.#whoIs(claims);
    const allowed = new Set(scopes.filter((scope) => given.has(scope)));
    if (customersClaim === undefined) return { ...who, scopes: allowed, customers: undefined };
    const customers = claimValues(claims, customersClaim);
    // A claim that is missing must not make somebody's token one for everybody.
    if (customers.length === 0)
      throw new ProblemError(
        403,
        `The token names no customer in its claim ${customersClaim}, which decides whose destinations it is for.`,
      );
    return { ...who, scopes: allowed, customers: new Set(customers) };
  }

  #operatorOf(claims: JWTPayload): Caller {
    const { operators } = this.#settings;
    if (operators === undefined) throw wrongToken(claimSentence('aud'));
    const roles = claimValues(claims, operators.roleClaim);
    const isOperator = roles.some((role) => operators.values.includes(role));
    const allowed = new Set(isOperator ? scopes : []);
    return { ...this.#whoIs(claims), scopes: allowed, customers: undefined };
  }

  #whoIs(claims: JWTPayload): Pick<Caller, 'user' | 'name'> {
    const sub = claims.sub ?? '';
    const user = `${this.#settings.issuer} ${sub}`;
    const name = personName(claims);
    return name === sub ? { user } : { user, name };
  }
}

function claimSentence(claim: string): string {
  if (claim === 'aud') return 'The token is meant for another audience than this API.';
  if (claim === 'iss') return 'The token is of another issuer.';
  if (claim === 'nbf') return 'The token is not valid yet.';
  return `The token's claim ${claim} is missing or wrong.`;
}
