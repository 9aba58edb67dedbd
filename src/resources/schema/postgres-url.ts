/** Why this cannot be the URL of a PostgreSQL database; undefined if it can. Never repeats it: it holds a password. */
export function postgresUrlProblem(url: string): string | undefined {
  if (!/^postgres(?:ql)?:\/\//.test(url))
    return 'must be a URL such as postgres://user:password@host:5432/database';
  // Without a host, which then is a parameter.
  if (!URL.canParse(url.replace('@/', '@host/')))
    return 'must be a valid URL; in a user name or password, special characters are written as %40 for @, %2F for /, %23 for #';
  return undefined;
}
