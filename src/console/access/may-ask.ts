import type { Session } from '../api/answers/deployment.ts';

/**
 * `staff`: viewers and operators. `own`: a customer too, of their own destination. `bodies`: a customer whose
 * link shows bodies too, who gets of the answer what `seenBy` leaves.
 */
type Rule = 'everyone' | 'staff' | 'own' | 'bodies' | 'operators';

/** Every route of the API by its path behind `/api/v1`. What is not here, nobody may ask. */
const rules: Readonly<Record<string, Rule>> = {
  'GET /session': 'everyone',
  'GET /openapi.json': 'everyone',
  'GET /freshness': 'staff',
  'GET /destinations': 'staff',
  'GET /destinations/:id': 'own',
  'GET /destinations/:id/series': 'own',
  'GET /destinations/:id/attempts': 'own',
  'GET /destinations/:id/dead-letters': 'own',
  'GET /dead-letters': 'staff',
  'GET /dead-letters/summary': 'staff',
  'GET /events': 'bodies',
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
};

export type Asking = Pick<Session, 'role' | 'destination' | 'bodies'>;

/** A request as its route names it, e.g. `/destinations/:id` with `{id: 'crm'}`. */
export interface AskedRoute {
  readonly method: string;
  readonly route: string;
  readonly params: Readonly<Record<string, string>>;
}

/** True if the route may be asked at all. `seenBy` then decides which parts of the answer are shown. */
export function mayAsk(asking: Asking, { method, route, params }: AskedRoute): boolean {
  switch (ruleOf(method, route)) {
    case undefined:
      return false;
    case 'everyone':
      return true;
    case 'operators':
      return asking.role === 'operator';
    case 'staff':
      return isStaff(asking);
    case 'bodies':
      return isStaff(asking) || (asking.role === 'customer' && asking.bodies);
    case 'own':
      return isStaff(asking) || isOwn(asking, params['id']);
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

function isStaff({ role }: Asking): boolean {
  return role === 'viewer' || role === 'operator';
}

function isOwn({ role, destination }: Asking, id: string | undefined): boolean {
  return role === 'customer' && destination !== undefined && destination === id;
}
