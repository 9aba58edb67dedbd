import assert from 'node:assert/strict';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

interface Document {
  readonly paths: Record<string, Record<string, Described> | undefined>;
  readonly components: { readonly schemas: Record<string, Schema> };
}
interface Described {
  readonly responses: Record<string, { readonly content: Record<string, { schema: Schema }> }>;
}
type Schema = Record<string, unknown>;

/** What an API's own OpenAPI document says of its answers. */
export interface DescribedApi {
  /** @throws AssertionError for an answer that the document does not describe, or that has a field more */
  check(method: string, path: string, status: number, body: unknown): void;
  /** Each route whose answer was checked, such as `get /destinations/{id}`. */
  readonly checked: ReadonlySet<string>;
  readonly routes: readonly string[];
}

export async function describedApi(base: string): Promise<DescribedApi> {
  const document = (await (await fetch(`${base}/openapi.json`)).json()) as Document;
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const { schemas } = document.components;
  const exact = Object.fromEntries(
    Object.entries(schemas).map(([id, schema]) => [id, withoutMore(schema) as Schema]),
  );
  ajv.addSchema({ $id: 'document', components: { schemas: exact } });
  const all = Object.entries(document.paths).flatMap(([path, methods = {}]) =>
    Object.entries(methods).map(([method, { responses }]) => ({ path, method, responses })),
  );
  const compiled = new Map<string, ValidateFunction>();
  const checked = new Set<string>();
  const nameOf = ({ method, path }: { method: string; path: string }): string =>
    `${method} ${path.replace('/api/v1', '')}`;
  return {
    checked,
    routes: all.map(nameOf),
    check(method, path, status, body) {
      const route = all
        .filter((each) => each.method === method && patternOf(each.path).test(path))
        .sort((a, b) => a.path.split('{').length - b.path.split('{').length)[0];
      assert.ok(route, `the document has no ${method} ${path}`);
      const { content } = route.responses[status] ?? route.responses['default'] ?? {};
      const schema = Object.values(content ?? {})[0]?.schema;
      assert.ok(schema, `${nameOf(route)} has no schema for ${status}`);
      const ref = String(schema['$ref']);
      let validate = compiled.get(ref);
      if (validate === undefined)
        compiled.set(ref, (validate = ajv.compile({ $ref: `document${ref}` })));
      assert.ok(
        validate(body),
        `${nameOf(route)}: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(body).slice(0, 2_000)}`,
      );
      if (status === 200) checked.add(nameOf(route));
    },
  };
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`);
}

/** Every object has the fields that are described, and no other. */
function withoutMore(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMore);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).map(([key, each]) => [key, withoutMore(each)] as const);
  const schema = Object.fromEntries<unknown>(fields);
  if (typeof schema['$ref'] === 'string')
    return { ...schema, $ref: schema['$ref'].replace(/^#/, 'document#') };
  const isObject = schema['type'] === 'object' && Object.hasOwn(schema, 'properties');
  const isOpen = isObject && Object.keys(schema['properties'] as object).length === 0;
  return isObject && !isOpen ? { ...schema, additionalProperties: false } : schema;
}
