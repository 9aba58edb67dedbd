import { AnalyticsError } from './error.ts';

export function isObject(given: unknown): given is object {
  return typeof given === 'object' && given !== null && !Array.isArray(given);
}

export function invalid(name: string, given: unknown, allowed: string): AnalyticsError {
  const shown = typeof given === 'string' ? `"${given}"` : String(given);
  return new AnalyticsError('invalid-option', `${name} is ${shown}, allowed: ${allowed}.`);
}

/** What `given` has beside what is known, misspelt or another library's, would count for nothing. */
export function refuseStrangers(
  given: object,
  known: Readonly<Record<string, true>>,
  path: string = '',
): void {
  const stranger = Object.keys(given).find((name) => !Object.hasOwn(known, name));
  if (stranger === undefined) return;
  const allowed = Object.keys(known).join(', ');
  const message = `${path}${stranger} is no option, allowed: ${allowed}.`;
  throw new AnalyticsError('invalid-option', message);
}
