/**
 * The fields with real values in the place of masks: a caller that reads a destination and sends it back has only masks,
 * and a value that comes back as it was shown stays what it is. A secret that is sent along with events stays only with the host that gets it now: whoever
 * may change a destination, and may not read its tokens, could otherwise have them sent to a host of their own.
 */
export function unmasked(given: unknown, shown: unknown, real: unknown): unknown {
  if (typeof given === 'string') return given === shown ? real : given;
  if (Array.isArray(given))
    return given.map((each, index) => unmasked(each, fieldOf(shown, index), fieldOf(real, index)));
  if (!isFields(given)) return given;
  const fields = Object.entries(given).map(([name, value]) => [
    name,
    unmasked(value, fieldOf(shown, name), fieldOf(real, name)),
  ]);
  const result = Object.fromEntries(fields) as Fields;
  return goesElsewhere(result, real) ? given : result;
}

type Fields = Readonly<Record<PropertyKey, unknown>>;

/** The fields that say where a webhook's headers, or an authorization server's secret, are sent. */
const places = ['url', 'tokenUrl'] as const;

function goesElsewhere(result: Fields, real: unknown): boolean {
  return places.some((place) => {
    const [before, after] = [fieldOf(real, place), result[place]];
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
