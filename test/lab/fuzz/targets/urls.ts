import assert from 'node:assert/strict';
import { isIP, isIPv4 } from 'node:net';
import { AddressGuard } from '../../../../src/delivery/http/address-guard.ts';
import { longestRetryAfterMs } from '../../../../src/delivery/http/retry-after.ts';
import {
  PreparedDestination,
  type PreparedEndpoint,
} from '../../../../src/delivery/prepared-destination.ts';
import { placeholdersOf } from '../../../../src/event/placeholders.ts';
import { fillTarget, type UrlTemplate } from '../../../../src/event/url-template.ts';
import {
  headerNameProblem,
  headerValueProblem,
  urlProblem,
} from '../../../../src/resources/schema/texts.ts';
import { webhookUrlProblem } from '../../../../src/resources/schema/url-schema.ts';
import type { Target } from '../engine/target.ts';
import { exampleDestination } from '../../../resources/examples.ts';

const guard = new AddressGuard([]);
const nowMs = Date.parse('2026-01-31T12:00:00Z');

export const target: Target = {
  about:
    'URLs, addresses, header names and values, message ids, Retry-After: refused, or what an HTTP request may carry; no address of a network that is not public is allowed',
  seeds: [
    ...[
      'https://crm.example.com/a?b=c',
      'http://[::1]:8080/',
      'http://0x7f.1/',
      'https://user:pw@a/#f',
      'https://a/users/{{userId}}?e={{event|none}}',
    ],
    ...[
      '8.8.8.8',
      '10.0.0.1',
      '::ffff:127.0.0.1',
      '2001:db8::1',
      '64:ff9b::7f00:1',
      '2600::1',
      'fe80::1%eth0',
    ],
    ...[
      '::1.2.3.4',
      '2002:7f00:1::',
      '100.64.0.1',
      '192.0.0.170',
      '198.18.0.1',
      '224.0.0.1',
      '240.0.0.1',
    ],
    ...['X-Token', 'Bearer abc', 'message id ü', '120', 'Sat, 31 Jan 2026 12:00:10 GMT'],
    'Sat Jan 31 12:00:10 2026',
  ],
  words: [
    ...[
      'http://',
      'https://',
      '@',
      '#',
      '?',
      '%',
      '%00',
      '\\',
      '//',
      ':',
      '[',
      ']',
      '::',
      '.',
      'xn--',
      '{{',
      '}}',
      '{{userId}}',
    ],
    ...[
      '127',
      '0x',
      '169.254.169.254',
      'ffff:',
      '\u3002',
      '\xad',
      'localhost',
      'GMT',
      'Mon, ',
      '99999999999',
    ],
  ],
  covers: ['/ipaddr.js/'],
  mostBytes: 2_000,
  check(input) {
    const text = input.toString('utf8');
    if (urlProblem(text) === undefined && webhookUrlProblem(text) === undefined) assertUsable(text);
    if (isIP(text) !== 0 && guard.allows(text)) assertPublic(text);
    else assert.equal(typeof guard.allows(text), 'boolean');
    if (headerNameProblem(text) === undefined && headerValueProblem(text) === undefined)
      assert.doesNotThrow(() => new Headers([[text, text.trim()]]));
    const latin1 = input.toString('latin1');
    for (const wait of [
      longestRetryAfterMs(latin1, nowMs),
      longestRetryAfterMs([latin1, '5'], nowMs),
    ])
      assert.ok(wait === undefined || (Number.isFinite(wait) && wait >= 0), `wait ${wait ?? ''}`);
  },
};

function assertUsable(url: string): void {
  const prepared = new PreparedDestination(
    exampleDestination({ webhooks: [{ url, headers: {} }], idempotencyHeader: 'X-Id' }),
  );
  const [endpoint] = prepared.endpoints;
  if (endpoint === undefined) throw new Error('no endpoint');
  assert.match(endpoint.origin, /^https?:\/\/[!-~]+$/);
  if (typeof endpoint.target === 'string') assertAsGiven(url, endpoint, endpoint.target);
  else assertFilled(endpoint, endpoint.target);
  for (const part of [...endpoint.headers, ...prepared.headersOf(url, Buffer.from('{}'), 0)])
    assert.match(part, /^[ -~]*$/);
}

function assertAsGiven(url: string, endpoint: PreparedEndpoint, target: string): void {
  assert.match(target, /^\/[!-~]*$/);
  const { href, search } = new URL(url);
  // A question mark with nothing behind it is no query.
  const expected = search === '' ? href.replace(/\?$/, '') : href;
  assert.equal(new URL(endpoint.origin + target).href, expected);
  assert.doesNotMatch(endpoint.publicUrl, /[?#@]/.test(new URL(url).pathname) ? /[?#]/ : /[?#@]/);
}

/** Whatever stands in the places of a URL, it stays a URL of its origin, as the parser would have it. */
function assertFilled({ origin }: PreparedEndpoint, template: UrlTemplate): void {
  for (const value of ['a', '../?&#/@:%2e', '.%2e', '\ud800 é\r\n']) {
    const values = placeholdersOf(template.target).map(({ text }) => [text, value] as const);
    const target = fillTarget(template, Object.fromEntries(values));
    assert.ok(typeof target === 'string');
    assert.match(target, /^\/[!-~]*$/);
    assert.equal(new URL(origin + target).href, origin + target);
  }
}

/** Networks that IANA keeps from the public internet, written independently of the library. */
const closed4: readonly (readonly [string, number])[] = [
  ...([
    ['0.0.0.0', 8],
    ['10.0.0.0', 8],
    ['100.64.0.0', 10],
    ['127.0.0.0', 8],
  ] as const),
  ...([
    ['169.254.0.0', 16],
    ['172.16.0.0', 12],
    ['192.0.0.0', 24],
    ['192.0.2.0', 24],
  ] as const),
  ...([
    ['192.168.0.0', 16],
    ['198.18.0.0', 15],
    ['198.51.100.0', 24],
  ] as const),
  ...([
    ['203.0.113.0', 24],
    ['224.0.0.0', 4],
    ['240.0.0.0', 4],
  ] as const),
];

function assertPublic(address: string): void {
  const mapped = /^::ffff:(?:0:)?(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (isIPv4(address) || mapped !== undefined) {
    const number = numberOf(mapped ?? address);
    for (const [network, bits] of closed4)
      assert.notEqual(number >>> (32 - bits), numberOf(network) >>> (32 - bits), network);
    return;
  }
  const groups = new URL(`http://[${address}]`).hostname.slice(1, -1);
  if (groups.startsWith('::ffff:')) {
    const [high = '0', low = '0'] = groups.slice('::ffff:'.length).split(':');
    const [a, b] = [parseInt(high, 16), parseInt(low, 16)];
    assertPublic(`${a >> 8}.${a & 255}.${b >> 8}.${b & 255}`);
    return;
  }
  // 2000::/3 without Teredo, benchmarks, ORCHID, documentation and 6to4.
  assert.match(groups, /^[23][0-9a-f]{3}:/);
  assert.doesNotMatch(groups, /^(?:2002:|2001:(?::|[0-9a-f]{1,2}:|1[0-9a-f]{2}:|db8:))/);
}

function numberOf(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
}
