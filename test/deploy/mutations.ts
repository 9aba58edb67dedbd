import type { Manifest } from './manifest.ts';

/** One field of one manifest that is changed or removed, until it is undone. */
export interface Mutation {
  /** `Deployment postrider-router.spec.replicas`; items of a list by their name, or `[]`. */
  readonly path: string;
  readonly kind: 'changed' | 'removed';
  apply(): void;
  undo(): void;
}

type Node = Record<string, unknown> | unknown[];

/** Every field of the manifests, changed once if it is a value, and removed once. */
export function* mutationsOf(manifests: Manifest[]): Generator<Mutation> {
  for (const manifest of [...manifests]) {
    const path = `${manifest.kind} ${manifest.metadata.name}`;
    yield removal(manifests, manifests.indexOf(manifest), path);
    yield* within(manifest as unknown as Node, path);
  }
}

function* within(parent: Node, path: string): Generator<Mutation> {
  const keys = Array.isArray(parent) ? [...parent.keys()] : Object.keys(parent);
  for (const key of keys) {
    const value = (parent as Record<string | number, unknown>)[key];
    const here = `${path}${step(key, value)}`;
    yield removal(parent, key, here);
    if (typeof value === 'object' && value !== null) yield* within(value as Node, here);
    else yield change(parent as Record<string | number, unknown>, key, value, here);
  }
}

function step(key: string | number, value: unknown): string {
  if (typeof key === 'string') return `.${key}`;
  const name = (value as { readonly name?: unknown } | null)?.name;
  return typeof name === 'string' ? `[${name}]` : '[]';
}

function removal(parent: Node, key: string | number, path: string): Mutation {
  if (Array.isArray(parent)) {
    const index = Number(key);
    const value: unknown = parent[index];
    const apply = (): void => void parent.splice(index, 1);
    return { path, kind: 'removed', apply, undo: () => void parent.splice(index, 0, value) };
  }
  const before = { ...parent };
  const apply = (): void => void Reflect.deleteProperty(parent, key);
  return { path, kind: 'removed', apply, undo: () => void Object.assign(parent, before) };
}

function change(
  parent: Record<string | number, unknown>,
  key: string | number,
  value: unknown,
  path: string,
): Mutation {
  const set = (to: unknown) => (): void => {
    parent[key] = to;
  };
  return { path, kind: 'changed', apply: set(other(value)), undo: set(value) };
}

/** Another value of the same type: of numbers, also of those in texts, the least that is allowed. */
function other(value: unknown): unknown {
  if (typeof value === 'boolean') return !value;
  if (typeof value === 'number') return value === 1 ? 2 : 1;
  if (typeof value === 'string' && /^\d+$/.test(value)) return value === '1' ? '2' : '1';
  return `${String(value)}-changed`;
}
