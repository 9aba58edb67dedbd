import { z } from 'zod';
import { callTypes } from '../event/call.ts';
import { headerNameProblem, headerValueProblem } from './headers.ts';
import { parseRate } from './rate.ts';
import { resourceKinds, type Resource, type ResourceKind } from './resource.ts';
import { urlProblem } from './url.ts';

/** What `get` prints in a secret's place. Refused as a value, so that its output cannot be applied by mistake. */
export const secretMask = '(set, not shown)';

/** Something wrong at one place of a document. */
interface Issue {
  readonly path: readonly PropertyKey[];
  readonly reason: string;
}

type Parsed = { readonly resource: Resource } | { readonly issues: readonly Issue[] };

/**
 * The border between documents and resources: a document becomes a complete, deeply frozen resource,
 * or the list of everything that is wrong with it.
 */
export function parseResource(document: unknown): Parsed {
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    return {
      issues: [{ path: [], reason: 'must be a resource: a mapping with kind, id and name' }],
    };
  const kind = 'kind' in document ? document.kind : undefined;
  const known = resourceKinds.find((name) => name === kind);
  if (known === undefined) return { issues: [unknownKind(kind)] };

  const result = schemas[known].safeParse(document, { error: reasonOf });
  if (result.success) return { resource: deepFreeze(result.data) };
  return { issues: result.error.issues.flatMap((issue) => toIssues(issue, known)) };
}

const idRule = 'must be 1 to 63 lower-case letters, digits and hyphens, not starting with a hyphen';
const id = z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, idRule);
const name = z
  .string()
  .regex(/^(?=.*\S)\P{Cc}{1,200}$/u, 'must be 1 to 200 characters without control characters');
const writeKey = z
  .string()
  // A colon would end the user name of Basic authentication.
  .regex(
    /^[!-9;-~]{1,200}$/,
    'must be 1 to 200 printable ASCII characters without space and colon',
  );

const source = z.strictObject({
  kind: z.literal('Source'),
  id,
  name,
  writeKeys: distinct(writeKey),
});

const url = z.string().superRefine(refuse(urlProblem));
const headerName = z.string().superRefine(refuse(headerNameProblem));
const secret = z.string().refine((value) => value !== secretMask, {
  error: 'is what `get` prints instead of a secret; give the secret itself, e.g. as ${NAME}',
});
const headers = z
  .record(z.string(), secret.superRefine(refuse(headerValueProblem)))
  .superRefine((given, context) => {
    const seen = new Map<string, string>();
    for (const header of Object.keys(given)) {
      const earlier = seen.get(header.toLowerCase());
      const reason =
        headerNameProblem(header) ??
        (earlier === undefined ? undefined : `is the same header as ${earlier}`);
      if (reason !== undefined)
        context.addIssue({ code: 'custom', path: [header], message: reason });
      seen.set(header.toLowerCase(), header);
    }
  });
const webhook = z.strictObject({ url, headers: headers.default({}) });
const webhookCount = 'must hold 1 to 5 webhooks';
const count = z.int().min(1, 'must be a whole number from 1 on');
const rate = z.string().transform((text, context) => {
  const perSecond = parseRate(text);
  if (perSecond !== undefined) return perSecond;
  context.addIssue('must be a rate such as 100/s, 30/m or 5/h, and more than zero');
  return z.NEVER;
});

const destination = z.strictObject({
  kind: z.literal('Destination'),
  id,
  name,
  sources: distinct(id),
  enabled: z.boolean().default(true),
  sharedSecret: z.exactOptional(secret),
  webhooks: z.array(webhook).min(1, webhookCount).max(5, webhookCount),
  events: z.exactOptional(notEmpty(distinct(z.enum(callTypes)))),
  eventNames: z.exactOptional(notEmpty(distinct(z.string()))),
  payload: z.enum(['standard', 'full']).default('standard'),
  idempotencyHeader: z.exactOptional(headerName),
  rateLimit: z.exactOptional(rate),
  maxInFlight: z.exactOptional(count),
  topic: z.enum(['shared', 'dedicated']).default('shared'),
});

const schemas: Readonly<Record<ResourceKind, z.ZodType<Resource>>> = {
  Source: source,
  Destination: destination
    .superRefine(({ idempotencyHeader, webhooks }, context) => {
      if (idempotencyHeader === undefined) return;
      const configured = webhooks.flatMap((each) => Object.keys(each.headers));
      if (!configured.some((header) => sameHeader(header, idempotencyHeader))) return;
      context.addIssue({
        code: 'custom',
        path: ['idempotencyHeader'],
        message: 'must not be one of the headers of a webhook',
      });
    })
    .transform(({ sharedSecret, ...rest }) =>
      // An empty secret signs nothing: it is the same as none.
      sharedSecret === undefined || sharedSecret === '' ? rest : { ...rest, sharedSecret },
    ),
};

function sameHeader(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

function refuse(problemOf: (value: string) => string | undefined) {
  return (value: string, context: { addIssue(message: string): void }): void => {
    const problem = problemOf(value);
    if (problem !== undefined) context.addIssue(problem);
  };
}

function distinct<Item extends z.ZodType<string>>(item: Item): z.ZodArray<Item> {
  return z.array(item).superRefine((values, context) => {
    values.forEach((value, index) => {
      if (values.indexOf(value) < index)
        context.addIssue({ code: 'custom', path: [index], message: 'is named twice' });
    });
  });
}

function notEmpty<Item extends z.ZodType<string>>(list: z.ZodArray<Item>): z.ZodArray<Item> {
  return list.min(1, 'must not be empty; without this field there is no such restriction');
}

function unknownKind(kind: unknown): Issue {
  const allowed = `allowed: ${resourceKinds.join(', ')}`;
  return {
    path: ['kind'],
    reason:
      kind === undefined
        ? `is missing; ${allowed}`
        : `${JSON.stringify(kind)} is not a kind of resource; ${allowed}`,
  };
}

/** Zod's issue as the end of a sentence that starts with the field's name; never with its value. */
function reasonOf(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code !== 'invalid_type' && issue.code !== 'invalid_value') return undefined;
  if (issue.input === undefined) return 'is missing';
  return issue.code === 'invalid_value'
    ? `must be one of ${issue.values.map(String).join(', ')}`
    : `must be ${typeNames[issue.expected] ?? issue.expected}${quotesHint(issue)}`;
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'text',
  boolean: 'true or false',
  int: 'a whole number from 1 on',
  number: 'a whole number from 1 on',
  array: 'a list',
  object: 'a mapping',
  record: 'a mapping',
};

function quotesHint(issue: { readonly expected: string; readonly input?: unknown }): string {
  const scalar = typeof issue.input === 'number' || typeof issue.input === 'boolean';
  return issue.expected === 'string' && scalar ? '; put it in quotes' : '';
}

function toIssues(issue: z.core.$ZodIssue, kind: ResourceKind): Issue[] {
  if (issue.code !== 'unrecognized_keys') return [{ path: issue.path, reason: issue.message }];
  const top = kind === 'Source' ? source : destination;
  const allowed = issue.path.length === 0 ? top.shape : webhook.shape;
  return issue.keys.map((key) => ({
    path: [...issue.path, key],
    reason: `is not a known field; allowed: ${Object.keys(allowed).join(', ')}`,
  }));
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.values(value).forEach(deepFreeze);
    Object.freeze(value);
  }
  return value;
}
