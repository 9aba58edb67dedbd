import type { Session } from '../api/answers/deployment.ts';

/**
 * `staff`: viewers and operators. `own`: a customer too, of a destination of their own. `listed`: a customer too, whose
 * own destinations alone the answer is made of. `bodies`: the same with a link that shows bodies. `managers`: whoever
 * may ask the API, which decides by itself what they may do there.
 */
type Rule = 'everyone' | 'staff' | 'own' | 'listed' | 'bodies' | 'operators' | 'managers';

/** Every route of the API by its path behind `/api/v1`. What is not here, nobody may ask. */
const rules: Readonly<Record<string, Rule>> = {
  'GET /session': 'everyone',
  'GET /openapi.json': 'everyone',
  'GET /freshness': 'staff',
  'GET /destinations': 'listed',
  'GET /destinations/:id': 'own',
  'GET /destinations/:id/series': 'own',
  'GET /destinations/:id/attempts': 'own',
  'GET /destinations/:id/dead-letters': 'own',
  'GET /dead-letters': 'staff',
  'GET /dead-letters/summary': 'staff',
  'GET /events': 'bodies',
  'GET /event-names': 'listed',
  'GET /events/search': 'staff',
  'GET /pipeline': 'staff',
  'GET /rejected': 'staff',
  'GET /rejected/summary': 'staff',
  'GET /audiences': 'staff',
  'GET /configuration': 'staff',
  'GET /notices': 'staff',
  'GET /audit': 'staff',
  'GET /runs': 'staff',
  'GET /redrives/:id': 'staff',
  'GET /links': 'staff',
  'POST /destinations/:id/links': 'operators',
  'POST /links/:id/revoke': 'operators',
  'POST /destinations/:id/test': 'operators',
  'POST /destinations/:id/retry': 'operators',
  'POST /destinations/:id/pause': 'operators',
  'POST /destinations/:id/resume': 'operators',
  'POST /redrives': 'operators',
  'POST /rejected/redrives': 'operators',
  'GET /manage/*': 'managers',
  'PUT /manage/*': 'managers',
  'PATCH /manage/*': 'managers',
  'POST /manage/*': 'managers',
  'DELETE /manage/*': 'managers',
};

/** The sender of a request, and what they may see at that moment. */
export interface Asking extends Pick<Session, 'role' | 'bodies' | 'manage'> {
  /** The ids of the destinations that a customer may see. Undefined: staff, who may see all. */
  readonly own: ReadonlySet<string> | undefined;
  /** By this their requests have turns: all of a customer's links together. Undefined: staff. */
  readonly turn: string | undefined;
}

/**
 * @param destinationsOf the ids of a customer's destinations, as the configuration has them now
 */
export function askingBy(
  { role, bodies, manage, destination, customer }: Session,
  destinationsOf: (customer: string) => ReadonlySet<string>,
): Asking {
  const who = manage === undefined ? { role, bodies } : { role, bodies, manage };
  if (role !== 'customer') return { ...who, own: undefined, turn: undefined };
  if (customer !== undefined)
    return { ...who, own: destinationsOf(customer), turn: `customer ${customer}` };
  const own = new Set(destination === undefined ? [] : [destination]);
  return { ...who, own, turn: `destination ${destination ?? ''}` };
}

/** A request as its route names it, e.g. `/destinations/:id` with `{id: 'crm'}`. */
export interface AskedRoute {
  readonly method: string;
  readonly route: string;
  readonly params: Readonly<Record<string, string>>;
}

/** True if the route may be asked at all. `seenBy` then decides which parts of the answer are shown. */
export function mayAsk(asking: Asking, { method, route, params }: AskedRoute): boolean {
  const { role, own, bodies, manage } = asking;
  switch (ruleOf(method, route)) {
    case undefined:
      return false;
    case 'everyone':
      return true;
    case 'operators':
      return role === 'operator';
    case 'managers':
      return manage === true;
    case 'staff':
      return isStaff(asking);
    case 'listed':
      return isStaff(asking) || own !== undefined;
    case 'bodies':
      return isStaff(asking) || (own !== undefined && bodies);
    case 'own':
      return isStaff(asking) || own?.has(params['id'] ?? '') === true;
  }
}

/** A route without a rule is a mistake, which the server finds when the route is added. */
export function hasRule(method: string, route: string): boolean {
  return ruleOf(method, route) !== undefined;
}

function ruleOf(method: string, route: string): Rule | undefined {
  const name = `${method === 'HEAD' ? 'GET' : method} ${route}`;
  return Object.hasOwn(rules, name) ? rules[name] : undefined;
}

function isStaff({ role, own }: Asking): boolean {
  return (role === 'viewer' || role === 'operator') && own === undefined;
}
