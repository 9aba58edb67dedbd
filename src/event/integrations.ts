import type { Call } from './call.ts';

/** The name of this kind of destination in a call's `integrations`. */
const destinationName = 'Webhooks';

/**
 * Tells whether the call may go to webhook destinations. Rules are in `integrations`, else in
 * `context.integrations`; anything but an object there counts as absent, and an empty object is a
 * set of rules. `Webhooks: false` disables. `All: false`, the key in any case, disables unless
 * `Webhooks` is `true` or an object. Other values, and other names, decide nothing.
 */
export function webhooksEnabled(call: Call): boolean {
  const { integrations, context } = call.fields;
  const rules = isObject(integrations)
    ? integrations
    : isObject(context) && isObject(context['integrations'])
      ? context['integrations']
      : undefined;
  if (rules === undefined) return true;
  const own = rules[destinationName];
  if (own === true || isObject(own)) return true;
  return own !== false && !allDisabled(rules);
}

function allDisabled(rules: Readonly<Record<string, unknown>>): boolean {
  for (const name in rules) {
    if (rules[name] === false && name.length === 3 && name.toLowerCase() === 'all') return true;
  }
  return false;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
