import { AnalyticsError } from './errors.ts';

export function isObject(given: unknown): given is object {
  return typeof given === 'object' && given !== null && !Array.isArray(given);
}

export function invalid(name: string, given: unknown, allowed: string): AnalyticsError {
  const shown = typeof given === 'string' ? `"${given}"` : String(given);
  return new AnalyticsError('invalid-option', `${name} is ${shown}, allowed: ${allowed}.`);
}

/** Unknown fields of `given`, misspelt or of another library, would be ignored silently. */
export function strangerAmong(
  given: object,
  known: Readonly<Record<string, true>>,
  path: string = '',
): AnalyticsError | undefined {
  const stranger = Object.keys(given).find((name) => !Object.hasOwn(known, name));
  if (stranger === undefined) return undefined;
  const allowed = Object.keys(known).join(', ');
  const message = `${path}${stranger} is not an option, allowed: ${allowed}.`;
  return new AnalyticsError('invalid-option', message);
}

/** @throws AnalyticsError `invalid-option` */
export function refuseStrangers(
  given: object,
  known: Readonly<Record<string, true>>,
  path: string = '',
): void {
  const stranger = strangerAmong(given, known, path);
  if (stranger !== undefined) throw stranger;
}

/** For a value that is not shown, because errors are logged. */
export function checkText(name: string, given: unknown): void {
  if (typeof given === 'string' && given !== '') return;
  const kind = given === '' ? 'empty' : `of the type ${given === null ? 'null' : typeof given}`;
  throw new AnalyticsError('invalid-option', `${name} is ${kind}, allowed: a text, not empty.`);
}

/** @throws AnalyticsError `invalid-option` */
export function readHttpUrl(name: string, given: unknown): URL {
  const allowed = 'an http or https URL without credentials';
  let url: URL;
  try {
    url = new URL(given as string);
  } catch {
    throw invalid(name, given, allowed);
  }
  if (url.username !== '' || url.password !== '') {
    // Not shown as it is: errors are logged.
    throw invalid(name, `${url.protocol}//…@${url.host}`, allowed);
  }
  if (!/^https?:$/.test(url.protocol)) throw invalid(name, given, allowed);
  return url;
}
