import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';

/** As Kafka's tools and Strimzi spell them. */
export interface Right {
  readonly type: 'topic' | 'group' | 'transactionalId' | 'cluster';
  /** Ignored for the cluster. */
  readonly name: string;
  /** Everything whose name begins so. */
  readonly prefix: boolean;
  readonly operations: readonly string[];
}

/** A principal of the manifests, with everything that it may do. */
export interface KafkaUser {
  readonly name: string;
  readonly rights: readonly Right[];
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly authorization: {
      readonly acls: readonly {
        readonly resource: {
          readonly type: Right['type'];
          readonly name?: string;
          readonly patternType?: 'literal' | 'prefix';
        };
        readonly operations: readonly string[];
      }[];
    };
  };
}

const file = new URL('../../deploy/components/strimzi/kafka-users.yaml', import.meta.url);

/** What is deployed is what is tested. */
export function readKafkaUsers(): KafkaUser[] {
  return parseAllDocuments(readFileSync(file, 'utf8')).map((document) => {
    const { kind, metadata, spec } = document.toJS() as Manifest;
    if (kind !== 'KafkaUser') throw new Error(`${kind} ${metadata.name} among the users`);
    return {
      name: metadata.name,
      rights: spec.authorization.acls.map(({ resource, operations }) => ({
        type: resource.type,
        name: resource.name ?? '',
        prefix: resource.patternType === 'prefix',
        operations,
      })),
    };
  });
}
