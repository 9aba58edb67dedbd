import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeLink, type CustomerLink } from '../../../src/console/access/customer-link.ts';
import { keyFor, sign } from '../../../src/console/access/signed.ts';
import type { LinkRow, MadeLink } from '../../../src/console/api/answers/actions.ts';
import type { Session } from '../../../src/console/api/answers/deployment.ts';
import type { Story } from '../../../src/console/api/answers/events.ts';
import type { Page } from '../../../src/console/api/answers/shapes.ts';
import {
  Browser,
  loggedIn,
  sessionKey,
  startStand,
  story,
  tokensFile,
  twoTokens,
  type Reply,
  type Stand,
} from './stand.ts';

const dayMs = 86_400_000;
const settings = { tokensFile: tokensFile(twoTokens), sessionKey };

function shownBy(stand: Stand, changes: Partial<CustomerLink> = {}): CustomerLink {
  const untilMs = stand.clock.now() + 7 * dayMs;
  return { destination: 'crm', uid: null, bodies: false, untilMs, ...changes };
}

function linkOf(stand: Stand, changes: Partial<CustomerLink> = {}): string {
  return stand.linkTo(shownBy(stand, changes));
}

async function opened(stand: Stand, changes: Partial<CustomerLink> = {}): Promise<Browser> {
  const browser = new Browser(stand.url);
  await browser.get(linkOf(stand, changes));
  return browser;
}

test('a link shows its destination, by a page that goes on by itself', async (t) => {
  const stand = await startStand(t, settings);
  const browser = new Browser(stand.url);
  const answer = await browser.get(linkOf(stand), { 'sec-fetch-site': 'cross-site' });
  assert.equal(answer.status, 200);
  assert.match(answer.setCookies.join(), /^postrider-[0-9a-f]{12}=.*HttpOnly; SameSite=Strict$/);
  assert.match(answer.text, /<meta http-equiv="refresh" content="0; url=\/c\/[0-9a-f]{12}">/);
  assert.match(answer.text, /<title>You are logged in · Harbor &#38; Sons<\/title>/);
  assert.doesNotMatch(answer.text, /Postrider/);
  assert.equal(answer.headers['cache-control'], 'no-store');
  const session = await browser.session();
  assert.deepEqual(session, {
    csrf: session.csrf,
    user: 'crm',
    subject: `link ${String(stand.told[0]?.link?.id)}`,
    role: 'customer',
    destination: 'crm',
    until: new Date(stand.clock.now() + 7 * dayMs).toISOString(),
    bodies: false,
    isOpen: false,
  });
  assert.equal((await browser.get('/api/v1/destinations/crm')).status, 200);
});

test('a customer logs out of one link, and stays in another, as staff does', async (t) => {
  const stand = await startStand(t, settings);
  const browser = await loggedIn(stand, 'olga');
  const ids = ['crm', 'billing'].map((destination) => {
    const url = linkOf(stand, { destination });
    return { url, id: String(stand.told.at(-1)?.link?.id) };
  });
  for (const { url } of ids) await browser.get(url);
  const [first, second] = ids.map(({ id }) => id);
  const userBy = async (link: string | undefined): Promise<string | undefined> => {
    const headers: Record<string, string> = link === undefined ? {} : { 'x-postrider-link': link };
    const { status, text } = await browser.get('/api/v1/session', headers);
    return status === 200 ? (JSON.parse(text) as Session).user : undefined;
  };
  const asked = await browser.get(`/logout?link=${String(first)}`);
  assert.match(asked.text, /You are logged in as <bdi>crm<\/bdi>/);
  const fields: Record<string, string> = {};
  for (const [, name = '', value = ''] of asked.text.matchAll(/name="(\w+)" value="([^"]*)"/g))
    fields[name] = value;
  const left = await browser.submit('/logout', fields);
  assert.deepEqual([left.status, left.headers['location']], [303, `/logout?link=${String(first)}`]);
  assert.match((await browser.get(`/logout?link=${String(first)}`)).text, /open your link/);
  const users = [await userBy(first), await userBy(second), await userBy(undefined)];
  assert.deepEqual(users, [undefined, 'billing', 'olga']);
});

test('why an event was put off, a customer reads in words', async (t) => {
  const items = [
    {
      cause: 'breaker',
      detail: 'not tried again since 2026-01-31T12:00Z (breaker); last answer 500',
    },
    { cause: 'lane', what: 'put off (cut-off) until 2026-01-31T12:00:00.000Z' },
  ];
  const stand = await startStand(t, settings, { answer: () => ({ items }) });
  const { text } = await (await opened(stand)).get('/api/v1/destinations/crm');
  assert.deepEqual(JSON.parse(text), {
    items: [
      {
        cause: 'the endpoint has failed too often',
        detail:
          'not tried again since 2026-01-31T12:00Z (the endpoint has failed too often); last answer 500',
      },
      {
        cause: 'other events come first',
        what: 'put off (a fault at the sender) until 2026-01-31T12:00:00.000Z',
      },
    ],
  });
  assert.match(
    (await (await loggedIn(stand, 'vera')).get('/api/v1/destinations/crm')).text,
    /"breaker"/,
  );
});

test('for another destination it is worth nothing, however that is written', async (t) => {
  const stand = await startStand(t, settings);
  const browser = await opened(stand);
  for (const path of [
    '/destinations/billing',
    '/destinations/CRM',
    '/destinations/crm%2f..%2fbilling',
    '/destinations/billing?id=crm',
    '/pipeline',
    '/events?message=m1',
  ])
    assert.equal((await browser.get(`/api/v1${path}`)).status, 403, path);
  const { text } = await browser.get('/api/v1/pipeline');
  assert.match(text, /Your link shows the destination crm only\./);
  const { csrf } = await browser.session();
  const paused = await browser.post('/api/v1/destinations/crm/pause', { 'x-csrf-token': csrf });
  assert.deepEqual([paused.status, stand.done], [403, []]);
});

test('one with bodies shows of an event what became of it at this destination', async (t) => {
  const stand = await startStand(t, settings);
  const browser = await opened(stand, { bodies: true });
  const { status, text } = await browser.get('/api/v1/events?message=m1');
  assert.equal(status, 200);
  assert.doesNotMatch(text, /billing|postrider\.ingest/);
  const seen = JSON.parse(text) as Story;
  assert.deepEqual(seen.copies, [story.copies?.[0]]);
  assert.deepEqual(seen.destinations, [story.destinations[0]]);
  const stranger = await opened(stand, { bodies: true, destination: 'lab' });
  const nothing = await stranger.get('/api/v1/events?message=m1');
  assert.equal(nothing.status, 404);
  assert.match(nothing.text, /There is no event m1\./);
});

test('customers who look up many events at a time wait for each other, and staff does not wait', async (t) => {
  const full = Promise.withResolvers<undefined>();
  const answered = Promise.withResolvers<undefined>();
  let begun = 0;
  const stand = await startStand(t, settings, {
    explain: async (messageId, _user, _over, own) => {
      if (own !== undefined) {
        begun += 1;
        if (begun === 3) full.resolve(undefined);
        await answered.promise;
      }
      return { story: { ...story, messageId }, bodies: [] };
    },
  });
  const customers = await Promise.all(
    ['crm', 'billing', 'lab', 'crm', 'billing'].map((destination) =>
      opened(stand, { bodies: true, destination }),
    ),
  );
  const many: Promise<Reply>[] = customers.map((each) =>
    each.get('/api/v1/events?message=m1&user=u1'),
  );
  await full.promise;
  const vera = await loggedIn(stand, 'vera');
  const staff = Array.from({ length: 8 }, () => vera.get('/api/v1/events?message=m1&user=u1'));
  for (const { status } of await Promise.all(staff)) assert.equal(status, 200);
  assert.equal(begun, 3, 'the last place is kept for staff, and a customer has one');
  answered.resolve(undefined);
  const statuses = (await Promise.all(many)).map(({ status }) => status);
  assert.deepEqual(statuses, [200, 200, 404, 200, 200]);
});

test('a customer sees no number of a record that others share, and no address of our network', async (t) => {
  const detail = 'crm.example resolves to 10.0.0.7, which is not public; connect fd00::7:443';
  const queries: unknown[] = [];
  const items = [{ seq: '123456', place: '3:987654', at: '2026-01-31T12:00:00.000Z', detail }];
  const stand = await startStand(t, settings, {
    answer: ({ query }) => {
      queries.push(query);
      return { items, next: 'WzEsMl0', resource: { url: 'https://crm.example/?t=1' } };
    },
  });
  const browser = await opened(stand);
  const { text } = await browser.get('/api/v1/destinations/crm');
  assert.doesNotMatch(text, /123456|987654|WzEsMl0|10\.0\.0\.7|fd00|resource/);
  assert.match(text, /resolves to \(an address\), which is not public/);
  assert.match(text, /2026-01-31T12:00:00\.000Z/);
  const { items: seen, next } = JSON.parse(text) as { items: { seq: string }[]; next: string };
  const again = `after=${String(seen[0]?.seq)}&cursor=${next}`;
  assert.equal((await browser.get(`/api/v1/destinations/crm?${again}`)).status, 200);
  assert.deepEqual(queries.at(-1), { after: '123456', cursor: 'WzEsMl0' });
  const guessed = await browser.get('/api/v1/destinations/crm?after=123456');
  assert.equal(guessed.status, 400);
  assert.match(guessed.text, /after is none that this console gave/);
  const vera = await loggedIn(stand, 'vera');
  assert.match((await vera.get('/api/v1/destinations/crm')).text, /123456.*10\.0\.0\.7/);
});

test('a customer who asks very often waits for their own answers, and staff does not', async (t) => {
  const answered = Promise.withResolvers<undefined>();
  const third = Promise.withResolvers<undefined>();
  const begun: string[] = [];
  let [running, mostRunning] = [0, 0];
  const stand = await startStand(t, settings, {
    answer: async ({ params }) => {
      const { id = '' } = params as { readonly id?: string };
      begun.push(id);
      if (id !== 'crm') return {};
      running += 1;
      mostRunning = Math.max(mostRunning, running);
      if (running > 2) third.resolve(undefined);
      await answered.promise;
      running -= 1;
      return {};
    },
  });
  const browser = await opened(stand);
  const many = Array.from({ length: 40 }, () => browser.get('/api/v1/destinations/crm'));
  const refused = await Promise.race([...many, third.promise]);
  assert.equal(refused?.status, 429, 'more than two are read for a customer at a time');
  assert.match(refused.text, /^[^.]+Your link has too many requests under way; try again[^.]+\./);
  const vera = await loggedIn(stand, 'vera');
  assert.equal((await vera.get('/api/v1/destinations/billing')).status, 200);
  assert.deepEqual(begun, ['crm', 'crm', 'billing']);
  answered.resolve(undefined);
  const statuses = (await Promise.all(many)).map(({ status }) => status);
  assert.equal(statuses.filter((status) => status === 200).length, begun.length - 1);
  assert.ok(begun.length > 20, String(begun.length));
  assert.equal(mostRunning, 2);
});

test('a session lasts as long as its link', async (t) => {
  const stand = await startStand(t, settings);
  const short = await opened(stand, { untilMs: stand.clock.now() + 60_000 });
  const long = await opened(stand);
  stand.clock.forward(60_000);
  assert.equal((await short.get('/api/v1/session')).status, 401);
  assert.equal((await long.get('/api/v1/session')).status, 200);
  stand.clock.forward(7 * dayMs - 60_001);
  assert.equal((await long.get('/api/v1/session')).status, 200);
  stand.clock.forward(1);
  assert.equal((await long.get('/api/v1/session')).status, 401);
});

test('whoever opens links is a customer in the pages of each link, and in others who they were', async (t) => {
  const stand = await startStand(t, settings);
  const browser = await loggedIn(stand, 'olga');
  const ids: string[] = [];
  for (const destination of ['crm', 'billing']) {
    const { text } = await browser.get(linkOf(stand, { destination }));
    ids.push(/url=\/c\/(\w+)/.exec(text)?.[1] ?? '');
  }
  const whoBy = async (link?: string): Promise<string | undefined> => {
    const headers = link === undefined ? {} : { 'x-postrider-link': link };
    const { status, text } = await browser.get('/api/v1/session', headers);
    return status === 200 ? (JSON.parse(text) as Session).user : undefined;
  };
  assert.deepEqual(await Promise.all([whoBy(), ...ids.map(whoBy), whoBy('000000000000')]), [
    'olga',
    'crm',
    'billing',
    undefined,
  ]);
});

test('however many links a browser opens, it has few cookies', async (t) => {
  const stand = await startStand(t, settings);
  const browser = await opened(stand);
  for (let count = 0; count < 20; count += 1) await browser.get(linkOf(stand));
  assert.equal(browser.jar.size, 8);
  assert.equal((await browser.get('/api/v1/session')).status, 200);
});

test('one that has expired, was changed or was never recorded opens nothing, and says so', async (t) => {
  const stand = await startStand(t, settings);
  const link = linkOf(stand);
  const session = sign(keyFor(sessionKey, 'session'), { untilMs: stand.clock.now() + dayMs });
  for (const [how, path] of Object.entries({
    expired: linkOf(stand, { untilMs: stand.clock.now() }),
    'not in the audit': makeLink(shownBy(stand)).path,
    'its hash': `/l/${String(stand.told.find((each) => each.link !== undefined)?.link?.sha256)}`,
    'its id': `/l/${String(stand.told.find((each) => each.link !== undefined)?.link?.id)}`,
    'of another purpose': `/l/${session}`,
    'cut off': link.slice(0, -5),
    empty: '/l/',
    markup: '/l/%3Cscript%3Ealert(1)%3C/script%3E',
  })) {
    const { status, setCookies, text } = await new Browser(stand.url).get(path);
    assert.deepEqual([status, setCookies], [403, []], how);
    assert.match(text, /This link has expired, was revoked, or is incomplete\./);
    assert.doesNotMatch(text, /<script/);
  }
});

test('an operator makes a link and revokes it, which ends its sessions, and the audit says who', async (t) => {
  const stand = await startStand(t, settings);
  const olga = await loggedIn(stand, 'olga');
  const { csrf } = await olga.session();
  const headers = { 'x-csrf-token': csrf };
  const answer = await olga.post('/api/v1/destinations/crm/links', headers, { expires: '12h' });
  assert.equal(answer.status, 200, answer.text);
  const { id, path } = JSON.parse(answer.text) as MadeLink;
  const [first, second] = [new Browser(stand.url), new Browser(stand.url)];
  for (const each of [first, second]) assert.equal((await each.get(path)).status, 200);
  assert.equal((await first.get('/api/v1/links')).status, 403);
  const { items } = JSON.parse((await olga.get('/api/v1/links')).text) as Page<LinkRow>;
  assert.deepEqual(
    items.map((link) => [link.id, link.destination, link.by, link.bodies]),
    [[id, 'crm', 'olga', false]],
  );
  assert.doesNotMatch(JSON.stringify([items, stand.told]), new RegExp(path.slice('/l/'.length)));

  const vera = await loggedIn(stand, 'vera');
  const asVera = { 'x-csrf-token': (await vera.session()).csrf };
  assert.equal((await vera.post(`/api/v1/links/${id}/revoke`, asVera)).status, 403);
  assert.equal((await vera.post('/api/v1/destinations/crm/links', asVera)).status, 403);
  assert.equal((await olga.post(`/api/v1/links/${id}/revoke`, headers)).status, 200);
  for (const each of [first, second])
    assert.equal((await each.get('/api/v1/destinations/crm')).status, 401);
  assert.equal((await new Browser(stand.url).get(path)).status, 403);
  assert.equal((await olga.post(`/api/v1/links/${id}/revoke`, headers)).status, 404);
  for (const [body, status] of [
    [{ expires: '91d' }, 400],
    [{ expires: '1s' }, 400],
    [{ expires: 'soon' }, 400],
  ] as const)
    assert.equal((await olga.post('/api/v1/destinations/crm/links', headers, body)).status, status);
  assert.equal((await olga.post('/api/v1/destinations/crn/links', headers)).status, 404);
  const acts = stand.told.map(({ user, action }) => `${user}: ${action}`);
  assert.deepEqual(acts, [
    'olga: log-in',
    'olga: make-link',
    `link ${id}: open-link`,
    `link ${id}: open-link`,
    'vera: log-in',
    'olga: revoke-link',
  ]);
});

test('a console that starts again knows links that were made and those that were revoked', async (t) => {
  const first = await startStand(t, settings);
  const [kept, gone] = [linkOf(first), linkOf(first)].map((link) => new URL(link).pathname);
  const link = first.told.findLast((each) => each.link !== undefined)?.link;
  const revoked = { user: 'olga', action: 'revoke-link', revoked: String(link?.id) } as const;
  const again = await startStand(t, settings, { earlier: [...first.told, revoked] });
  assert.equal((await new Browser(again.url).get(String(kept))).status, 200);
  assert.equal((await new Browser(again.url).get(String(gone))).status, 403);
});

test('a link and its session end with their destination, also where another one has its id', async (t) => {
  const stand = await startStand(t, settings);
  const path = '/api/v1/destinations/crm';
  const former = await opened(stand);
  assert.equal((await former.get(path)).status, 200);
  stand.uids.delete('crm');
  assert.equal((await former.get(path)).status, 401);
  stand.uids.set('crm', 'second');
  assert.equal((await former.get(path)).status, 401);
  const { status, setCookies, text } = await new Browser(stand.url).get(linkOf(stand));
  assert.deepEqual([status, setCookies], [403, []]);
  assert.match(text, /This link was for a destination that has been deleted\./);

  const olga = await loggedIn(stand, 'olga');
  assert.match((await olga.get('/api/v1/links')).text, /"items":\[\]/);
  const later = await opened(stand, { uid: 'second' });
  assert.match((await olga.get('/api/v1/links')).text, /"destination":"crm"/);
  assert.equal((await later.get(path)).status, 200);
  assert.equal((await (await loggedIn(stand, 'vera')).get(path)).status, 200);
});

test('whoever makes links can make nothing else: a session needs a key that no link is made with', async (t) => {
  const stand = await startStand(t, settings);
  const untilMs = stand.clock.now() + dayMs / 4;
  const claims = { id: 'a', user: 'ceo@shop.example', role: 'operator', untilMs };
  const link = new URL(linkOf(stand)).pathname.slice('/l/'.length);
  for (const key of [sessionKey, Buffer.from(link, 'base64url'), keyFor(sessionKey, 'log-in')]) {
    const browser = new Browser(stand.url);
    browser.jar.set('postrider', sign(key, claims));
    assert.equal((await browser.get('/api/v1/session')).status, 401);
  }
});
