import type { ResourceBounds } from '../../src/resources/apply/desired.ts';
import type { Config } from '../../src/resources/config/config.ts';
import type { RoutedDestination } from '../../src/resources/config/connected.ts';
import { createSecretKeys, type SecretKeys } from '../../src/resources/config/secrets.ts';
import { parseResource } from '../../src/resources/schema/schema.ts';
import type {
  Audience,
  ComputedTrait,
  Destination,
  NoticeHook,
  Resource,
  Source,
} from '../../src/resources/resource.ts';

export const exampleKey: Buffer = Buffer.alloc(32, 1);
export const exampleKeys: SecretKeys = createSecretKeys(exampleKey, undefined);
export const otherKeys: SecretKeys = createSecretKeys(Buffer.alloc(32, 2), undefined);

/** Those of the settings' defaults. */
export const exampleBounds: ResourceBounds = {
  nowMs: Date.now(),
  deliveryMaxInFlight: 1_024,
  retryWindowMs: 4 * 3_600_000,
  retryTiersMs: [10_000, 60_000, 300_000, 900_000, 1_800_000, 3_600_000],
  deliveryTimeoutMs: 5_000,
  audienceFilesDir: '/lists',
};

export function exampleSource(more: object = {}): Source {
  const { managedBy, ...changes }: Partial<Source> = more;
  const base = { kind: 'Source', id: 'shop', name: 'Web shop', writeKeys: ['wk_shop'] };
  const source = parsed({ ...base, ...changes }) as Source;
  return managedBy === undefined ? source : Object.freeze({ ...source, managedBy });
}

/** Signed, with a header that is a secret too. `more` may hold what no file can: the uid, the manager, former secrets. */
export function exampleDestination(more: object = {}): Destination {
  const { uid, managedBy, formerSecrets, ...changes }: Partial<Destination> = more;
  const base = {
    kind: 'Destination',
    id: 'crm',
    name: 'CRM',
    sources: ['shop'],
    sharedSecret: 'teehee',
    webhooks: [{ url: 'https://crm.example.com', headers: { Authorization: 'Bearer t0ken' } }],
  };
  const destination = parsed({ ...base, ...changes }) as Destination;
  return Object.freeze({
    ...destination,
    ...(uid === undefined ? {} : { uid }),
    ...(managedBy === undefined ? {} : { managedBy }),
    ...(formerSecrets === undefined ? {} : { formerSecrets }),
  });
}

/** The destinations of a source that can want a call without properties, by id. */
export function candidatesOf(
  config: Pick<Config, 'destinationsOf'>,
  sourceId: string,
): readonly RoutedDestination[] {
  const ids = { messageId: 'm1', userId: 'u1' };
  const fields = { type: 'track', event: 'Order Completed', ...ids };
  const timestamp = '2026-11-20T18:59:40.123Z';
  return config.destinationsOf(sourceId).candidates({ ...ids, type: 'track', timestamp, fields });
}

/** Without headers and secret; its URL is a secret. */
export function exampleHook(changes: object = {}): NoticeHook {
  const base = { kind: 'NoticeHook', id: 'team', name: 'Team', url: 'https://team.example.com/' };
  return parsed({ ...base, ...changes }) as NoticeHook;
}

/** Read from a database, whose URL is a secret. */
export function exampleAudience(changes: object = {}): Audience {
  const base = {
    kind: 'Audience',
    id: 'big-spenders',
    name: 'Big Spenders',
    source: 'shop',
    members: {
      postgres: 'postgres://sync:pa55@db.example.com/shop',
      query: 'select customer_id from big_spenders',
    },
  };
  return parsed({ ...base, ...changes }) as Audience;
}

export function exampleComputedTrait(changes: object = {}): ComputedTrait {
  const base = {
    kind: 'ComputedTrait',
    id: 'ltv',
    name: 'Lifetime Value',
    source: 'shop',
    values: { file: 'ltv.parquet', userId: 'customer_id', value: 'total' },
  };
  return parsed({ ...base, ...changes }) as ComputedTrait;
}

function parsed(document: object): Resource {
  const result = parseResource(document);
  if ('resource' in result) return result.resource;
  throw new Error(JSON.stringify(result.issues));
}
