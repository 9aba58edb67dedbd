import avro from 'avsc';

interface Schema {
  readonly type: string;
  readonly schema: string;
}

/** What keeps readers of one schema from reading what was written with the other, in a registry's words. */
export function breaksOf(level: string, former: Schema, next: Schema): readonly string[] {
  if (level.startsWith('NONE')) return [];
  if (former.type !== next.type) return ['Incompatible because of different schema type'];
  const breaks: string[] = [];
  if (!level.startsWith('FORWARD')) breaks.push(...unreadable(former, next));
  if (!level.startsWith('BACKWARD')) breaks.push(...unreadable(next, former));
  return breaks;
}

function unreadable(written: Schema, reading: Schema): readonly string[] {
  if (written.type === 'AVRO') return avroBreaks(written.schema, reading.schema);
  if (written.type === 'JSON') return jsonBreaks(written.schema, reading.schema);
  return [];
}

function avroBreaks(written: string, reading: string): readonly string[] {
  const typeOf = (schema: string): avro.Type =>
    avro.Type.forSchema(JSON.parse(schema) as avro.Schema, { wrapUnions: true });
  try {
    typeOf(reading).createResolver(typeOf(written));
    return [];
  } catch (error) {
    const { message } = error as Error;
    // A real one names the field alone.
    return [/no matching field for default-less (?:[\w.]+\.)?(\w+)/.exec(message)?.[1] ?? message];
  }
}

interface JsonSchema {
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, { readonly type?: unknown }>>;
}

/** New required properties and types that were narrowed: what a test needs of JSON Schema. */
function jsonBreaks(written: string, reading: string): readonly string[] {
  const former = JSON.parse(written) as JsonSchema;
  const next = JSON.parse(reading) as JsonSchema;
  const added = (next.required ?? []).filter((name) => !(former.required ?? []).includes(name));
  const narrowed = Object.entries(next.properties ?? {}).filter(([name, { type }]) => {
    const before = former.properties?.[name];
    return before !== undefined && JSON.stringify(before.type) !== JSON.stringify(type);
  });
  return [
    ...added.map((name) => `Property ${name} added without a default`),
    ...narrowed.map(([name]) => `Type of ${name} changed`),
  ];
}
