import { z } from 'zod';
import { refuse, secret } from './schema-parts.ts';
import { urlProblem } from './texts.ts';

/** The credentials for a token of OAuth 2, by the client credentials grant (RFC 6749, 4.4). */
export interface OAuth2 {
  /** The authorization server's URL for tokens. */
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Separated by spaces. */
  readonly scope?: string;
  /** The endpoint that the token is for, as some authorization servers want to know. */
  readonly audience?: string;
  /** The place of the credentials in the token request: the header `Authorization`, or the body. */
  readonly auth: 'basic' | 'body';
}

/** The certificate that is shown to a server that demands one, with its key. Both are texts in PEM. */
export interface ClientCertificate {
  /** With those above it, if the server needs them. */
  readonly certificate: string;
  readonly privateKey: string;
}

const tokenUrl = z.string().superRefine(refuse(urlProblem));
/** All that RFC 6749 (appendix A) lets a client id and secret consist of; some servers take more than ASCII. */
const credentialRule = 'must be 1 to 4096 characters without control characters';
const isCredential = (text: string): boolean => /^\P{Cc}{1,4096}$/u.test(text);
/** A stored secret is longer, because it is sealed; `findTooLarge` bounds the one of a file. */
const isSecretCredential = (text: string): boolean => /^\P{Cc}+$/u.test(text);

const oauth2: z.ZodObject<{
  tokenUrl: z.ZodString;
  clientId: z.ZodString;
  clientSecret: z.ZodString;
  scope: z.ZodExactOptional<z.ZodString>;
  audience: z.ZodExactOptional<z.ZodString>;
  auth: z.ZodDefault<z.ZodEnum<{ basic: 'basic'; body: 'body' }>>;
}> = z.strictObject({
  tokenUrl,
  clientId: z.string().refine(isCredential, credentialRule),
  clientSecret: secret.refine(isSecretCredential, credentialRule),
  scope: z.exactOptional(
    z.string().regex(/^[!#-[\]-~]+(?: [!#-[\]-~]+)*$/, 'must be scopes separated by single spaces'),
  ),
  audience: z.exactOptional(z.string().refine(isCredential, credentialRule)),
  auth: z.enum(['basic', 'body']).default('basic'),
});

const pem = z.string().max(65_536, 'must have at most 65536 characters');

const clientCertificate: z.ZodObject<{ certificate: z.ZodString; privateKey: z.ZodString }> =
  z.strictObject({ certificate: pem, privateKey: secret });

/** The fields by which a webhook logs in at its endpoint. */
export const loginFields: {
  readonly oauth2: z.ZodExactOptional<typeof oauth2>;
  readonly clientCertificate: z.ZodExactOptional<typeof clientCertificate>;
} = {
  oauth2: z.exactOptional(oauth2),
  clientCertificate: z.exactOptional(clientCertificate),
};

/** The names of the fields inside one of them; undefined for another field. */
export function fieldsOfLogin(field: PropertyKey | undefined): readonly string[] | undefined {
  if (field === 'clientCertificate') return Object.keys(clientCertificate.shape);
  return field === 'oauth2' ? Object.keys(oauth2.shape) : undefined;
}

interface LoggedIn {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly oauth2?: OAuth2;
  readonly clientCertificate?: ClientCertificate;
}

/** A token has the header `Authorization` to itself, and only TLS shows certificates. */
export function refuseUselessLogin(given: LoggedIn, context: z.RefinementCtx): void {
  const { url, headers } = given;
  const refuseAt = (path: PropertyKey[], message: string): void => {
    context.addIssue({ code: 'custom', path, message });
  };
  const header = Object.keys(headers).find((name) => name.toLowerCase() === 'authorization');
  if (given.oauth2 !== undefined && header !== undefined)
    refuseAt(['headers', header], 'is set by oauth2; remove one of them');
  if (given.clientCertificate !== undefined && !/^https:/i.test(url))
    refuseAt(['clientCertificate'], 'needs a URL that starts with https://');
}
