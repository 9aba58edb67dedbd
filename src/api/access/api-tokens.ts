import { z } from 'zod';
import { customerProblem } from '../../event/customer.ts';
import { tokenFields, type KnownToken, type TokensFile } from '../../http-api/tokens.ts';
import { scopes, type Caller, type Scope } from './caller.ts';

export interface ApiToken extends KnownToken {
  readonly scopes: readonly Scope[];
  /** Undefined: it is bound to none. */
  readonly customers?: readonly string[] | undefined;
}

const customer = z.string('must be text, in quotes').superRefine((id, context) => {
  const problem = customerProblem(id);
  if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
});

/** The file of tokens that `API_TOKENS_FILE` names. */
export const apiTokens: TokensFile<ApiToken> = {
  setting: 'API_TOKENS_FILE',
  fields: ['name', 'scopes', 'sha256', 'customers (optional)'],
  schema: z.strictObject({
    name: tokenFields.name,
    scopes: z
      .array(z.enum(scopes, `must be one of ${scopes.join(', ')}`), 'must be a list')
      .min(1, `must name at least one of ${scopes.join(', ')}`),
    sha256: tokenFields.sha256,
    // An empty list looks as if it allowed nothing, and as if it were not there.
    customers: z
      .array(customer, 'must be a list of ids of customers')
      .min(1, 'must name at least one customer; without the field, the token is for all')
      .optional(),
  }),
};

export function callerOfToken({ name, scopes: given, customers }: ApiToken): Caller {
  return {
    user: name,
    scopes: new Set(given),
    customers: customers === undefined ? undefined : new Set(customers),
  };
}
