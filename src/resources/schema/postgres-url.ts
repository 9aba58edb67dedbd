/** Modes that say how a connection is protected; `require` encrypts, and verifies nothing. */
export const sslModes = ['disable', 'require', 'verify-ca', 'verify-full'] as const;
export type SslMode = (typeof sslModes)[number];

/** Modes that would also do without encryption, and one of Node's library that verifies nothing. */
const like: Readonly<Record<string, SslMode>> = {
  allow: 'require',
  prefer: 'require',
  'no-verify': 'require',
};

/** The mode that a URL asks for; undefined where it says nothing, or something else. */
export function sslModeOf(url: string): SslMode | undefined {
  const given = new URLSearchParams(url.split(/\?(.*)/s)[1]).get('sslmode');
  if (given === null) return undefined;
  return like[given] ?? sslModes.find((mode) => mode === given);
}

/** Why this cannot be the URL of a PostgreSQL database; undefined if it can. Never repeats it: it holds a password. */
export function postgresUrlProblem(url: string): string | undefined {
  if (!/^postgres(?:ql)?:\/\//.test(url))
    return 'must be a URL such as postgres://user:password@host:5432/database';
  // Without a host, which then is a parameter.
  if (!URL.canParse(url.replace('@/', '@host/')))
    return 'must be a valid URL; in a user name or password, special characters are written as %40 for @, %2F for /, %23 for #';
  if (/[?&]sslmode=/.test(url) && sslModeOf(url) === undefined)
    return `must have as sslmode one of ${sslModes.join(', ')}`;
  return undefined;
}
