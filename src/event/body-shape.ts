import { buildBody, payloadOf, type Payload } from './body.ts';
import { compileTemplate, fillTemplate, type Template } from './body-template.ts';
import type { Call } from './call.ts';
import { parseCallPath, type CallPath } from './call-path.ts';

/** The shape of a destination's bodies, as its file has it. Deletions always have their own body. */
export type BodyShape = ChosenFields | { readonly template: Template };

/** Changes of the payload. Paths are those of the body: through objects by key, as in `properties.revenue`. */
interface ChosenFields {
  /** Left out. */
  readonly omit?: readonly string[];
  /** All others are left out. */
  readonly pick?: readonly string[];
  /** From former to new paths. What stands at a new path is replaced, and objects that are left empty go. */
  readonly rename?: Readonly<Record<string, string>>;
}

/** The part of a destination that says what its bodies are. */
export interface BodyChoice {
  readonly payload: Payload;
  readonly body?: BodyShape;
}

/** A destination's body, made ready for many calls. */
export interface BodyMaker {
  readonly payload: Payload;
  /** The same text for destinations that get the same bodies; undefined: the payload as it is. */
  readonly shape: string | undefined;
  build(call: Call): string;
}

export function bodyMakerOf({ payload, body: shape }: BodyChoice): BodyMaker {
  if (shape === undefined)
    return { payload, shape: undefined, build: (call) => buildBody(call, payload) };
  const text = JSON.stringify(shape);
  return {
    payload,
    shape: 'template' in shape ? text : `${payload} ${text}`,
    build: buildOf(payload, shape),
  };
}

function buildOf(payload: Payload, shape: BodyShape): (call: Call) => string {
  if ('template' in shape) {
    const template = compileTemplate(shape.template);
    return (call) => fillTemplate(template, call) ?? '{}';
  }
  const { omit = [], pick, rename = {} } = shape;
  const omitted = omit.map(pathOf);
  const picked = pick?.map(pathOf);
  const renamed = Object.entries(rename).map(([from, to]) => ({
    from: pathOf(from),
    to: pathOf(to),
  }));
  // A value is taken before what it was in, and put after what it goes into.
  const takes = renamed.toSorted((a, b) => b.from.length - a.from.length);
  const puts = renamed.toSorted((a, b) => a.to.length - b.to.length);
  return (call) => {
    const body = new Draft(payloadOf(call, payload));
    const chosen = picked === undefined ? body : new Draft({});
    for (const path of picked ?? []) chosen.put(path, body.at(path));
    for (const path of omitted) chosen.remove(path);
    const values = new Map(takes.map((each) => [each, chosen.take(each.from)]));
    for (const each of puts) chosen.put(each.to, values.get(each));
    return JSON.stringify(chosen.fields);
  };
}

function pathOf(text: string): CallPath {
  const path = parseCallPath(text);
  if ('problem' in path) throw new Error(`the path ${text} ${path.problem}`);
  return path;
}

type Fields = Record<string, unknown>;

/** A body that is changed. Its objects belong to the call, so each is copied before its first change. */
class Draft {
  readonly #own = new Set<object>();
  readonly fields: Fields;

  constructor(fields: Readonly<Fields>) {
    this.fields = this.#copy(fields);
  }

  /** The value at the path; undefined: there is none. */
  at(path: readonly string[]): unknown {
    let value: unknown = this.fields;
    for (const key of path) {
      if (!isObject(value) || !Object.hasOwn(value, key)) return undefined;
      value = value[key];
    }
    return value;
  }

  remove(path: readonly string[]): void {
    // A key that is undefined is not written, and one that is deleted makes its object slower.
    if (this.at(path) !== undefined) this.#set(path, undefined);
  }

  /** Removes the value at the path, with the objects that it leaves empty. */
  take(path: CallPath): unknown {
    const value = this.at(path);
    if (value === undefined) return undefined;
    let at: readonly string[] = path;
    do {
      this.remove(at);
      at = at.slice(0, -1);
    } while (at.length > 0 && isEmpty(this.at(at)));
    return value;
  }

  /** Puts a value at the path, in the place of what is there or in the way; undefined changes nothing. */
  put(path: CallPath, value: unknown): void {
    if (value !== undefined) this.#set(path, value);
  }

  #set(path: readonly string[], value: unknown): void {
    let object = this.fields;
    for (const key of path.slice(0, -1)) {
      const inner = Object.hasOwn(object, key) ? object[key] : undefined;
      const own = isObject(inner) ? this.#ownOf(inner) : this.#copy({});
      setKey(object, key, own);
      object = own;
    }
    setKey(object, path.at(-1) ?? '', value);
  }

  #ownOf(object: Fields): Fields {
    return this.#own.has(object) ? object : this.#copy(object);
  }

  #copy(object: Readonly<Fields>): Fields {
    const copy = { ...object };
    this.#own.add(copy);
    return copy;
  }
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isEmpty(value: unknown): boolean {
  return isObject(value) && Object.values(value).every((inner) => inner === undefined);
}

function setKey(object: Fields, key: string, value: unknown): void {
  // Assigning it would change the prototype.
  if (key === '__proto__')
    Object.defineProperty(object, key, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  else object[key] = value;
}
