import { z } from 'zod';
import { parseDuration } from '../../duration.ts';
import { callTypes } from '../../event/call.ts';
import { customerProblem } from '../../event/customer.ts';
import {
  audienceFields,
  audienceSchema,
  computedTraitFields,
  computedTraitSchema,
  limitFields,
} from './audience-schema.ts';
import { batchFields, batchRules, refuseUnusableBatch } from './batch.ts';
import { bodyShape, bodyShapeFields, refuseImpossiblePaths } from './body-schema.ts';
import { filter } from './filter-schema.ts';
import { hintAmong } from '../../near.ts';
import { orderFields, refuseUnusableOrder } from './order.ts';
import {
  headerNameProblem,
  headerValueProblem,
  isStandardHeader,
  parseCountedRate,
  parseRate,
  type CountedRate,
} from './texts.ts';
import {
  hookUrlProblem,
  method,
  refuseTooManyUrlPaths,
  webhookUrlProblem,
  withUrlPaths,
} from './url-schema.ts';
import {
  resourceKinds,
  type Destination,
  type Resource,
  type ResourceKind,
  type Webhook,
} from '../resource.ts';
import { retryFields, retryRules } from './retry-rules.ts';
import { signingSecretProblem } from '../signing-secret.ts';
import {
  distinct,
  id,
  issuesOf,
  missing,
  name,
  notEmpty,
  reasonOf,
  refuse,
  secret,
  type Issue,
} from './schema-parts.ts';
import { fieldsOfLogin, loginFields, refuseUselessLogin } from './webhook-login.ts';

export type ParsedResource =
  { readonly resource: Resource } | { readonly issues: readonly Issue[] };

/**
 * The border between documents and resources: a document becomes a complete, deeply frozen resource, or a
 * list of all its problems.
 */
export function parseResource(document: unknown): ParsedResource {
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    return {
      issues: [{ path: [], reason: 'must be a resource: a mapping with kind, id and name' }],
    };
  const kind = 'kind' in document ? document.kind : undefined;
  const known = resourceKinds.find((name) => name === kind);
  if (known === undefined) return { issues: [unknownKind(kind)] };

  const result = schemas[known].safeParse(document, { error: reasonOf });
  if (result.success) return { resource: deepFreeze(result.data) };
  return { issues: issuesOf(result.error.issues, (path) => fieldsAt(path, known)) };
}

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

const headerName = z.string().superRefine(refuse(headerNameProblem));
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
/** Also with a sealed URL, which `findSealedUrls` refuses in files. */
const webhook = z.strictObject({
  url: z.string().superRefine(refuse(webhookUrlProblem)),
  headers: headers.default({}),
  method: z.exactOptional(method),
  ...loginFields,
});
const webhookCount = 'must hold 1 to 5 webhooks';
const count = z.int().min(1, 'must be a whole number from 1 on');
/** More workers than that hardly share one destination, and each partition takes its part of a worker's memory. */
const mostPartitions = 100;
const partitions = z
  .int()
  .refine(
    (given) => given >= 1 && given <= mostPartitions,
    `must be a whole number from 1 to ${mostPartitions}`,
  );
const rate = parsedText(parseRate, 'must be a rate such as 100/s, 30/m or 5/h, and more than zero');
const countedRate = parsedText(
  parseCountedRate,
  'must be a rate of events such as 100/s, 30/m or 5/h, or of requests such as 10 requests/s, and more than zero',
);

const disableAfterRule = 'must be a duration from 1m to 90d, such as 5d, or never';
const disableAfter = z
  .string(disableAfterRule)
  .refine((text) => text === 'never' || isLongEnough(parseDuration(text) ?? 0), disableAfterRule);

const longestOverlapMs = 7 * 86_400_000;
const secretOverlapRule = 'must be a duration from 0s to 7d, such as 24h';
const secretOverlap = z
  .string(secretOverlapRule)
  .refine((text) => (parseDuration(text) ?? Infinity) <= longestOverlapMs, secretOverlapRule);

const notify = z.strictObject({ url: z.string().superRefine(refuse(hookUrlProblem)) });

const destination = z.strictObject({
  kind: z.literal('Destination'),
  id,
  name,
  customer: z.exactOptional(z.string().superRefine(refuse(customerProblem))),
  sources: distinct(id),
  enabled: z.boolean().default(true),
  sharedSecret: z.exactOptional(secret),
  signature: z.exactOptional(z.enum(['segment', 'standard', 'both'])),
  secretOverlap: z.exactOptional(secretOverlap),
  webhooks: z
    .array(webhook.superRefine(refuseUselessLogin))
    .min(1, webhookCount)
    .max(5, webhookCount),
  secretUrl: z.exactOptional(z.boolean()),
  events: z.exactOptional(notEmpty(distinct(z.enum(callTypes)))),
  eventNames: z.exactOptional(notEmpty(distinct(z.string()))),
  filter: z.exactOptional(filter),
  payload: z.enum(['standard', 'full']).default('standard'),
  body: z.exactOptional(bodyShape),
  idempotencyHeader: z.exactOptional(headerName),
  compress: z.exactOptional(z.enum(['gzip'])),
  rateLimit: z.exactOptional(countedRate),
  maxInFlight: z.exactOptional(count),
  batch: z.exactOptional(batchRules),
  topic: z.enum(['shared', 'dedicated']).default('shared'),
  partitions: z.exactOptional(partitions),
  ...orderFields,
  disableAfter: z.exactOptional(disableAfter),
  retry: z.exactOptional(retryRules),
  notify: z.exactOptional(notify),
});

const noticeHook = z.strictObject({
  kind: z.literal('NoticeHook'),
  id,
  name,
  url: z.string().superRefine(refuse(hookUrlProblem)),
  headers: headers.default({}),
  sharedSecret: z.exactOptional(secret),
  format: z.enum(['notice', 'chat']).default('notice'),
  rateLimit: z.exactOptional(rate),
});

const schemas: Readonly<Record<ResourceKind, z.ZodType<Resource>>> = {
  Source: source,
  Destination: destination
    .superRefine(refuseUnusableOrder)
    .superRefine(refuseUnusableBatch)
    .superRefine(({ topic, partitions: given }, context) => {
      if (given === undefined || topic === 'dedicated') return;
      const message =
        'is for a destination with topic: dedicated; the shared topic has TOPIC_PARTITIONS';
      context.addIssue({ code: 'custom', path: ['partitions'], message });
    })
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
    .superRefine(refuseOwnEncoding)
    .transform(withoutEmptySecret)
    .superRefine(refuseUnusableSignature)
    .superRefine(refuseImpossiblePaths)
    .superRefine(refuseTooManyUrlPaths)
    .transform(withUrlPaths)
    .transform(withoutDefaultSignature)
    .transform(withRateLimit),
  Audience: audienceSchema,
  ComputedTrait: computedTraitSchema,
  NoticeHook: noticeHook.transform(withoutEmptySecret),
};

/** A configured encoding and that of `compress` would contradict each other. */
function refuseOwnEncoding(
  {
    compress,
    idempotencyHeader = '',
    webhooks,
  }: Pick<Destination, 'compress' | 'idempotencyHeader' | 'webhooks'>,
  context: z.RefinementCtx,
): void {
  if (compress === undefined) return;
  const isEncoding = (header: string): boolean => sameHeader(header, 'Content-Encoding');
  const message = 'is set by compress; remove one of them';
  if (isEncoding(idempotencyHeader))
    context.addIssue({ code: 'custom', path: ['idempotencyHeader'], message });
  webhooks.forEach(({ headers: configured }, index) => {
    for (const header of Object.keys(configured).filter(isEncoding))
      context.addIssue({ code: 'custom', path: ['webhooks', index, 'headers', header], message });
  });
}

/** An empty secret signs nothing, so it is the same as none. */
function withoutEmptySecret<T extends { readonly sharedSecret?: string }>({
  sharedSecret,
  ...rest
}: T): Omit<T, 'sharedSecret'> & { readonly sharedSecret?: string } {
  return sharedSecret === undefined || sharedSecret === '' ? rest : { ...rest, sharedSecret };
}

interface Signed {
  readonly sharedSecret?: string;
  readonly signature?: 'segment' | 'standard' | 'both';
  readonly secretOverlap?: string;
  readonly idempotencyHeader?: string;
  readonly webhooks: readonly Webhook[];
}

/** The standard's own headers and kinds of secret matter only where it is used. */
function refuseUnusableSignature(given: Signed, context: z.RefinementCtx): void {
  const { signature = 'segment', sharedSecret, idempotencyHeader = '', webhooks } = given;
  const refuseAt = (path: PropertyKey[], message: string): void => {
    context.addIssue({ code: 'custom', path, message });
  };
  if (signature === 'segment') {
    if (given.secretOverlap !== undefined)
      refuseAt(['secretOverlap'], 'needs signature: standard or both; X-Signature has one secret');
    return;
  }
  if (sharedSecret === undefined) {
    refuseAt(['signature'], 'needs a sharedSecret; postrider secrets new prints a fresh one');
    return;
  }
  const problem = signingSecretProblem(sharedSecret);
  // What is stored is encrypted, and has none.
  if (problem !== undefined) refuseAt(['sharedSecret'], problem);
  const reserved = `is a header of signature: ${signature}`;
  if (isStandardHeader(idempotencyHeader)) refuseAt(['idempotencyHeader'], reserved);
  webhooks.forEach(({ headers: configured }, index) => {
    for (const header of Object.keys(configured).filter(isStandardHeader))
      refuseAt(['webhooks', index, 'headers', header], reserved);
  });
}

/** The signature that a destination has without the field is stored as none, which former releases can read. */
function withoutDefaultSignature<T extends Signed>({
  signature,
  ...rest
}: T): Omit<T, 'signature'> & { readonly signature?: 'standard' | 'both' } {
  return signature === undefined || signature === 'segment' ? rest : { ...rest, signature };
}

function withRateLimit<T extends { readonly rateLimit?: CountedRate }>({
  rateLimit,
  ...rest
}: T): Omit<T, 'rateLimit'> & Pick<Destination, 'rateLimit' | 'rateLimitOf'> {
  if (rateLimit === undefined) return rest;
  const { perSecond, of: counted } = rateLimit;
  return counted === undefined
    ? { ...rest, rateLimit: perSecond }
    : { ...rest, rateLimit: perSecond, rateLimitOf: counted };
}

/** A time shorter than a restart of the endpoint would pause destinations needlessly. */
function isLongEnough(durationMs: number): boolean {
  return durationMs >= 60_000 && durationMs <= 90 * 86_400_000;
}

function parsedText<Value>(
  parse: (text: string) => Value | undefined,
  rule: string,
): z.ZodType<Value, string> {
  return z.string(rule).transform((text, context) => {
    const value = parse(text);
    if (value !== undefined) return value;
    context.addIssue(rule);
    return z.NEVER;
  });
}

function sameHeader(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

function unknownKind(kind: unknown): Issue {
  if (kind === undefined)
    return { path: ['kind'], reason: `${missing}; allowed: ${resourceKinds.join(', ')}` };
  const hint = hintAmong(typeof kind === 'string' ? kind : '', resourceKinds, 'allowed');
  // Without the text itself, which may come from a variable, and be a secret.
  return { path: ['kind'], reason: `is not a kind of resource${hint}` };
}

const fields: Readonly<Record<ResourceKind, readonly string[]>> = {
  Source: Object.keys(source.shape),
  Destination: Object.keys(destination.shape),
  Audience: audienceFields,
  ComputedTrait: computedTraitFields,
  NoticeHook: Object.keys(noticeHook.shape),
};

function fieldsAt(path: readonly PropertyKey[], kind: ResourceKind): readonly string[] {
  if (path.length === 0) return fields[kind];
  const ofLogin = fieldsOfLogin(path.at(-1));
  if (ofLogin !== undefined) return ofLogin;
  const [field] = path;
  if (field === 'retry') return retryFields;
  if (field === 'notify') return Object.keys(notify.shape);
  if (field === 'batch') return batchFields;
  if (field === 'body') return bodyShapeFields;
  return field === 'limits' ? limitFields : Object.keys(webhook.shape);
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.values(value).forEach(deepFreeze);
    Object.freeze(value);
  }
  return value;
}

/** The fields of a kind of resource, as JSON Schema, for documents. Rules beyond types are told by `parseResource`. */
export function fieldsAsJsonSchema(kind: ResourceKind): Readonly<Record<string, unknown>> {
  const schema = z.toJSONSchema(schemas[kind], { io: 'input', unrepresentable: 'any' });
  // The document says which dialect its schemas are of.
  delete schema.$schema;
  return schema;
}
