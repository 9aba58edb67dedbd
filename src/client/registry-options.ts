import { checkText, invalid, isObject, readHttpUrl, refuseStrangers } from './invalid-option.ts';

export interface RegistryOptions {
  /** `http:` or `https:`; may have a path. */
  readonly url: string;
  /**
   * The subject whose latest schema calls are written with. Default: the topic's name followed by `-value`.
   */
  readonly subject?: string | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** PEM texts of an authority, a client certificate and its key. Default: the public authorities. */
  readonly ssl?:
    | {
        readonly ca?: string | undefined;
        readonly cert?: string | undefined;
        readonly key?: string | undefined;
      }
    | undefined;
}

const known: Readonly<Record<keyof RegistryOptions, true>> = {
  url: true,
  subject: true,
  username: true,
  password: true,
  ssl: true,
};
const knownOfSsl = { ca: true, cert: true, key: true } as const;

/** @throws AnalyticsError `invalid-option` */
export function checkRegistry(given: unknown): void {
  if (!isObject(given)) throw invalid('kafka.registry', given, "{ url: 'https://…' }");
  refuseStrangers(given, known, 'kafka.registry.');
  const { url, subject, username, password, ssl }: Partial<Record<string, unknown>> = { ...given };
  readHttpUrl('kafka.registry.url', url);
  if (subject !== undefined) checkText('kafka.registry.subject', subject);
  if (username !== undefined || password !== undefined) {
    checkText('kafka.registry.username', username);
    checkText('kafka.registry.password', password);
  }
  if (ssl === undefined) return;
  if (!isObject(ssl)) throw invalid('kafka.registry.ssl', ssl, '{ ca, cert, key }');
  refuseStrangers(ssl, knownOfSsl, 'kafka.registry.ssl.');
}
