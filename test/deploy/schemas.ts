import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ValidateFunction } from 'ajv';
import { parse } from 'yaml';
import type { Manifest } from './manifest.ts';

interface Schema {
  readonly [keyword: string]: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly pattern?: string;
}

interface Definition {
  readonly kind: string;
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string };
    readonly versions: readonly {
      readonly name: string;
      readonly schema: { readonly openAPIV3Schema: Schema };
    }[];
  };
}

/** The schemas of custom resources, by `apiVersion/kind`. */
export type CustomKinds = ReadonlyMap<string, Schema>;

const read = new Map<string, CustomKinds>();

const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });

/** `folders`: of CustomResourceDefinitions, as their projects publish them. */
export function readCustomKinds(folders: readonly string[]): CustomKinds {
  return new Map(folders.flatMap((folder) => [...customKindsOf(folder)]));
}

function customKindsOf(folder: string): CustomKinds {
  const known = read.get(folder);
  if (known !== undefined) return known;
  const kinds = new Map(
    readdirSync(folder).flatMap((name) => {
      const { spec } = parse(readFileSync(join(folder, name), 'utf8')) as Definition;
      return spec.versions.map(({ name: version, schema }) => [
        `${spec.group}/${version}/${spec.names.kind}`,
        schema.openAPIV3Schema,
      ]);
    }),
  );
  read.set(folder, kinds);
  return kinds;
}

/** What is wrong with a custom resource. */
export function problemsOf(kinds: CustomKinds, manifest: Manifest): string[] {
  const schema = kinds.get(`${manifest.apiVersion}/${manifest.kind}`);
  if (schema === undefined) return [`there is no kind ${manifest.apiVersion} ${manifest.kind}`];
  const validate: ValidateFunction = ajv.compile(closed(schema));
  validate(manifest);
  const { kind, metadata } = manifest;
  return (validate.errors ?? []).map(
    ({ instancePath, message = '', params }) =>
      `${kind} ${metadata.name} ${instancePath}: ${message} ${JSON.stringify(params)}`,
  );
}

/** Refuses fields that it does not name, as an API server does with strict field validation. */
function closed(schema: Schema): Schema {
  const { properties, items, additionalProperties, pattern } = schema;
  const isOpen =
    properties === undefined || schema['x-kubernetes-preserve-unknown-fields'] === true;
  return {
    ...schema,
    // Go's way to ignore case, in JavaScript's.
    ...(pattern?.startsWith('^(?i)') === true ? { pattern: `^(?i:${pattern.slice(5)})` } : {}),
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            Object.entries(properties).map(([name, property]) => [name, closed(property)]),
          ),
        }),
    ...(items === undefined ? {} : { items: closed(items) }),
    ...(typeof additionalProperties === 'object'
      ? { additionalProperties: closed(additionalProperties) }
      : {}),
    ...(isOpen || additionalProperties !== undefined ? {} : { additionalProperties: false }),
  };
}
