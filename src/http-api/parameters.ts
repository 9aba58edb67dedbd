/** A parameter's JSON Schema. */
export interface Parameter {
  readonly type: 'string' | 'integer' | 'boolean' | 'array';
  /** The allowed values, in words. */
  readonly description: string;
  readonly [keyword: string]: unknown;
}

/** The parameters of an API's requests, each with its bounds, and the same in words for errors and OpenAPI. */
export type Parameters = Readonly<Record<string, Parameter>>;

/** The JSON Schema of a route's `querystring` or `params`. */
export type Accept = (
  names: readonly string[],
  required?: readonly string[],
) => Record<string, unknown>;

export function accepting(parameters: Parameters): Accept {
  return (names, required = []) => {
    const properties = Object.fromEntries(names.map((name) => [name, parameters[name]]));
    return { type: 'object', properties, required, additionalProperties: false };
  };
}

export function text(minLength: number, maxLength: number, description: string): Parameter {
  return { type: 'string', minLength, maxLength, description };
}

export const flag: Parameter = { type: 'boolean', description: 'true or false' };

export function oneOf(values: readonly string[]): Parameter {
  return { type: 'string', enum: [...values], description: `one of ${values.join(', ')}` };
}

/** A time that JavaScript can parse too. It cannot parse other ISO 8601, such as an offset of `+01`. */
const time: Parameter = {
  type: 'string',
  format: 'date-time',
  pattern: '^[0-9-]{10}T[0-9]{2}:[0-9]{2}:[0-5][0-9]([.][0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$',
  description: 'a time in ISO 8601, such as 2026-01-31T12:00:00Z or 2026-01-31T13:00:00+01:00',
};

/** The parameters that every list takes. */
export const paging: Readonly<Record<'cursor' | 'limit', Parameter>> = {
  cursor: {
    type: 'string',
    pattern: '^[A-Za-z0-9_-]{1,400}$',
    description: 'what `next` of the page before was',
  },
  limit: {
    type: 'integer',
    minimum: 1,
    maximum: 500,
    default: 50,
    description: 'a whole number from 1 to 500',
  },
};

/** The parameters that the API and the console's API describe in the same words: events to send again, and a link's terms. */
export const shared: Parameters = {
  customer: text(1, 128, 'the id of a customer, at most 128 characters'),
  message: text(1, 1_024, 'a message id, at most 1024 characters'),
  user: text(1, 1_024, 'the id of a user, at most 1024 characters'),
  since: time,
  until: time,
  again: flag,
  rate: text(3, 20, 'how many per time, such as 100/s or 30/m'),
  dryRun: flag,
  expires: text(2, 20, 'a duration such as 12h or 7d'),
  bodies: flag,
};
