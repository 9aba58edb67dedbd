import type { Rejection } from '../event/rejection.ts';
import type { Decoder } from './decoder.ts';

/** A schema to decode with, or why records that name it cannot be decoded. */
export type KnownSchema =
  | { readonly decode: Decoder; readonly rejection?: undefined }
  | { readonly decode?: undefined; readonly rejection: Rejection };

/** The part of a registry that reading typed records needs. */
export interface Schemas {
  /** Undefined: not known yet. */
  find(id: number): KnownSchema | undefined;
  /** Resolves once `find` has a result for the schema; not while the registry is unreachable. */
  settled(id: number): Promise<void>;
}

/** Without a registry, no schema is known. */
export const noRegistry: Schemas = {
  find: (id) => {
    const detail = `The value names the schema ${id}, and SCHEMA_REGISTRY_URL is not set.`;
    return { rejection: { reason: 'no-registry', detail } };
  },
  settled: () => Promise.resolve(),
};
