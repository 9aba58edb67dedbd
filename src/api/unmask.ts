/**
 * The fields with real values in the place of masks: a caller that reads a destination and sends it back has only masks,
 * and a value that comes back as it was shown stays what it is. A secret that is sent along with events stays only with
 * the host that gets it now: whoever may change a destination, and may not read its tokens, could otherwise have them
 * sent to a host of their own.
 */
export function unmasked(given: unknown, shown: unknown, real: unknown): unknown {
  if (typeof given === 'string') return given === shown ? real : given;
  if (Array.isArray(given)) {
    const places = placesBefore(given, shown);
    return given.map((each, index) => {
      const place = places[index] ?? -1;
      return unmasked(each, fieldOf(shown, place), fieldOf(real, place));
    });
  }
  if (!isFields(given)) return given;
  const fields = Object.entries(given).map(([name, value]) => [
    name,
    unmasked(value, fieldOf(shown, name), fieldOf(real, name)),
  ]);
  const result = Object.fromEntries(fields) as Fields;
  return goesElsewhere(result, real) ? given : result;
}

/**
 * The real fields with each URL as it is shown, for a destination that will show its URLs from now on. A hidden URL then
 * has to be given again, because whoever may change a destination could otherwise read it, and it is often all that keeps
 * others from posting there.
 */
export function withHiddenUrls(real: Fields, shown: Fields): Fields {
  const hide = (one: unknown, other: unknown): unknown =>
    isFields(one) ? { ...one, url: fieldOf(other, 'url') } : one;
  const { webhooks, notify } = real;
  return {
    ...real,
    webhooks: Array.isArray(webhooks)
      ? webhooks.map((each, index) => hide(each, fieldOf(shown['webhooks'], index)))
      : webhooks,
    ...(notify === undefined ? {} : { notify: hide(notify, shown['notify']) }),
  };
}

type Fields = Readonly<Record<PropertyKey, unknown>>;

/**
 * The place that each element of a list had before; -1: none, as far as can be told. A webhook is found by its URL, because
 * others may have come or gone before it, and one of another URL may have another token. One whose URL has changed is
 * taken for the one that was in its place, unless some are gone.
 */
function placesBefore(given: readonly unknown[], shown: unknown): readonly number[] {
  const before = Array.isArray(shown) ? shown.map((each: unknown) => fieldOf(each, 'url')) : [];
  const found = given.map((each, index) => {
    const url = fieldOf(each, 'url');
    return url === undefined || url === before[index] ? index : before.indexOf(url);
  });
  const isAnyGone = given.length < before.length;
  return found.map((place, index) =>
    place >= 0 || isAnyGone || found.includes(index) ? place : index,
  );
}

/** The fields that say where a webhook's headers, or an authorization server's secret, are sent. */
const urlFields = ['url', 'tokenUrl'] as const;

function goesElsewhere(result: Fields, real: unknown): boolean {
  return urlFields.some((field) => {
    const [before, after] = [fieldOf(real, field), result[field]];
    if (typeof before !== 'string' || typeof after !== 'string') return false;
    return originOf(before) !== originOf(after);
  });
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : url;
}

function fieldOf(of: unknown, name: PropertyKey): unknown {
  return isFields(of) ? of[name] : undefined;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}
