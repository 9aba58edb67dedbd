import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { IncomingRecord } from '../../../src/kafka/record.ts';
import {
  customersLinkRules,
  CustomersLinks,
  linkRecord,
  linkTokenPrefix,
  makeCustomersLink,
  revokedLinkRecord,
} from '../../../src/resources/customers/links.ts';

const wanted = {
  customer: 'acme',
  manage: true,
  bodies: false,
  untilMs: 2_000,
  user: 'token:shop',
  at: '2026-01-01T00:00:00.000Z',
};

function apply(
  links: CustomersLinks,
  { key = null, value = null }: { key?: string | Buffer | null; value?: string | Buffer | null },
): void {
  const buffer = (given: string | Buffer | null): Buffer | null =>
    given === null ? null : Buffer.from(given);
  const record = { key: buffer(key), value: buffer(value) };
  customersLinkRules.apply(links, record as IncomingRecord);
}

test('a link is found by its token until it ends, and its record opens nothing', () => {
  const links = new CustomersLinks();
  const { token, link } = makeCustomersLink(wanted);
  const record = linkRecord('links', link);
  assert.ok(token.startsWith(linkTokenPrefix));
  assert.ok(!JSON.stringify(record).includes(token.slice(linkTokenPrefix.length)));
  apply(links, record);
  assert.deepEqual(links.byToken(token, 1_999), link);
  assert.deepEqual(links.get(link.id, 1_999), link);
  assert.equal(links.byToken(token, 2_000), undefined);
  assert.equal(links.get(link.id, 2_000), undefined);
  assert.equal(links.byToken(link.sha256, 0), undefined);
  assert.equal(links.byToken(`${token}x`, 0), undefined);
});

test('a revoked link works no more, and others do', () => {
  const links = new CustomersLinks();
  const [one, other] = [makeCustomersLink(wanted), makeCustomersLink(wanted)];
  for (const { link } of [one, other]) apply(links, linkRecord('links', link));
  apply(links, revokedLinkRecord('links', one.link.id));
  assert.equal(links.byToken(one.token, 0), undefined);
  assert.deepEqual(links.byToken(other.token, 0), other.link);
});

test('links are listed by customer, the last made first; no id stands for others', () => {
  const links = new CustomersLinks();
  const made = ['acme', 'acme-2', 'acme', 'ACME'].map(
    (customer) => makeCustomersLink({ ...wanted, customer }).link,
  );
  for (const link of made) apply(links, linkRecord('links', link));
  const idsOf = (customer?: string): string[] => links.working(0, customer).map(({ id }) => id);
  assert.deepEqual(idsOf('acme'), [made[2]?.id, made[0]?.id]);
  assert.deepEqual(idsOf(), made.map(({ id }) => id).reverse());
  assert.deepEqual(links.working(2_000), []);
});

test('a record that is no link ends the link of its key, and makes none work', () => {
  const links = new CustomersLinks();
  const { token, link } = makeCustomersLink(wanted);
  for (const value of [
    'x',
    '{}',
    JSON.stringify({ ...link, id: 'another' }),
    JSON.stringify({ ...link, manage: 'yes' }),
    JSON.stringify({ ...link, customer: ' ' }),
    JSON.stringify({ ...link, untilMs: '9e99' }),
  ]) {
    apply(links, linkRecord('links', link));
    assert.throws(() => {
      apply(links, { key: link.id, value });
    }, /the record of link .* is not a link/);
    assert.equal(links.byToken(token, 0), undefined, value);
  }
});
