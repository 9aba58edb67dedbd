/** The claims that an identity provider makes about a person or a program. */
export type IdentityClaims = Readonly<Record<string, unknown>>;

/**
 * The texts of a claim that is one text or a list; none for other types.
 * @param claim its name, or the way to it: `realm_access.roles`
 */
export function claimValues(claims: IdentityClaims, claim: string): readonly string[] {
  // Names may have dots in them, e.g. https://shop.example/roles.
  const found = Object.hasOwn(claims, claim) ? claims[claim] : within(claims, claim.split('.'));
  const values: readonly unknown[] = Array.isArray(found) ? found : [found];
  return values.filter((value) => typeof value === 'string');
}

/** The name of a person in the pages and in the audit. */
export function personName(claims: IdentityClaims): string {
  const { email, email_verified: isVerified, preferred_username: username, sub } = claims;
  const names = [isVerified === false ? undefined : email, username, sub];
  return names.find((name) => typeof name === 'string' && name !== '') as string;
}

function within(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((inside, name) => {
    const isMap = typeof inside === 'object' && inside !== null && Object.hasOwn(inside, name);
    return isMap ? (inside as IdentityClaims)[name] : undefined;
  }, value);
}
