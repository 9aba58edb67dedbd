/** Names of the modules in `targets`. */
export const targetNames = [
  'record-batches',
  'codecs',
  'broker-answers',
  'group-metadata',
  'commit-metadata',
  'calls',
  'http-bodies',
  'timestamps',
  'avro',
  'protobuf',
  'json-schema',
  'envelopes',
  'bundles',
  'resource-files',
  'urls',
  'endpoint-answers',
  'row-files',
  'ndjson-lines',
  'settings',
  'console-input',
] as const;

export type TargetName = (typeof targetNames)[number];

export function moduleOf(name: TargetName): URL {
  return new URL(`../targets/${name}.ts`, import.meta.url);
}
