import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccess } from '../../../src/console/access/access.ts';
import { hasRule, mayAsk, type Asking } from '../../../src/console/access/may-ask.ts';
import { createConsoleServer } from '../../../src/console/api/server.ts';
import { silentLogger } from '../../../src/ops/log.ts';

const staff = { bodies: true, own: undefined, turn: undefined };
const operator: Asking = { ...staff, role: 'operator' };
const viewer: Asking = { ...staff, role: 'viewer' };
const customer: Asking = {
  role: 'customer',
  bodies: false,
  own: new Set(['crm']),
  turn: 'destination crm',
};

function may(asking: Asking, request: string, id?: string): boolean {
  const [method = '', route = ''] = request.split(' ');
  return mayAsk(asking, { method, route, params: id === undefined ? {} : { id } });
}

test('what is read, staff may ask; what is done, operators only', () => {
  for (const request of ['GET /destinations', 'GET /events', 'GET /configuration', 'HEAD /audit'])
    assert.deepEqual([may(operator, request), may(viewer, request)], [true, true], request);
  for (const request of [
    'POST /destinations/:id/test',
    'POST /destinations/:id/retry',
    'POST /destinations/:id/pause',
    'POST /destinations/:id/resume',
    'POST /redrives',
    'POST /rejected/redrives',
  ])
    assert.deepEqual(
      [operator, viewer, customer].map((asking) => may(asking, request, 'crm')),
      [true, false, false],
      request,
    );
});

test('a customer may ask for their destination, and for nothing else', () => {
  const own = ['', '/series', '/attempts', '/dead-letters'].map((end) => `/destinations/:id${end}`);
  for (const route of own) {
    assert.equal(may(customer, `GET ${route}`, 'crm'), true, route);
    for (const other of ['billing', 'CRM', 'crm ', 'crm/../billing', '', undefined])
      assert.equal(may(customer, `GET ${route}`, other), false, `${route} ${other ?? ''}`);
    assert.equal(may({ ...customer, own: new Set() }, `GET ${route}`, 'crm'), false);
  }
  for (const request of [
    'GET /dead-letters',
    'GET /dead-letters/summary',
    'GET /events',
    'GET /events/search',
    'GET /pipeline',
    'GET /rejected',
    'GET /rejected/summary',
    'GET /audiences',
    'GET /configuration',
    'GET /notices',
    'GET /audit',
    'GET /runs',
    'GET /redrives/:id',
  ])
    assert.equal(may(customer, request, 'crm'), false, request);
});

test('what nobody has thought of, nobody may ask', () => {
  for (const request of [
    'GET /nothing',
    'POST /destinations/:id',
    'DELETE /destinations/:id',
    'GET /toString',
    'GET ',
    'TRACE /session',
  ]) {
    const [method = '', route = ''] = request.split(' ');
    assert.equal(hasRule(method, route), false, request);
    assert.equal(may(operator, request, 'crm'), false, request);
  }
});

test('a route that no rule is for cannot be added', async () => {
  const adding = createConsoleServer({
    access: openAccess({ passesOn: false }),
    trustedProxies: [],
    log: silentLogger,
    pages: [],
    frameAncestors: [],
    destinationsOf: () => new Set(),
    dated: () => ({}),
    routes: (api) => {
      api.get('/forgotten', () => ({}));
    },
    onFailure: () => undefined,
    onAnswer: () => undefined,
  });
  await assert.rejects(adding, /no rule says who may ask GET \/api\/v1\/forgotten/);
});
