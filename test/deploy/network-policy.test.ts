import assert from 'node:assert/strict';
import ipaddr from 'ipaddr.js';
import fc from 'fast-check';
import { test } from 'node:test';
import { AddressGuard } from '../../src/delivery/http/address-guard.ts';
import { readManifests, type Manifest } from './manifest.ts';

interface Policy extends Manifest {
  readonly spec: {
    readonly egress: readonly {
      readonly to: readonly { readonly ipBlock: IpBlock }[];
      readonly ports: readonly { readonly protocol: string; readonly port: number }[];
    }[];
  };
}

interface IpBlock {
  readonly cidr: string;
  readonly except: readonly string[];
}

const [policy] = readManifests<Policy>('components/network-policy/endpoints.yaml');
assert.ok(policy);
const blocks = policy.spec.egress.flatMap(({ to }) => to.map(({ ipBlock }) => ipBlock));
const guard = new AddressGuard([]);

/** As a network plugin decides. */
function lets(address: string): boolean {
  const parsed = ipaddr.parse(address);
  const isIn = (cidr: string): boolean => {
    const [network, bits] = ipaddr.parseCIDR(cidr);
    return network.kind() === parsed.kind() && parsed.match([network, bits]);
  };
  return blocks.some(({ cidr, except }) => isIn(cidr) && !except.some(isIn));
}

/** The first and the last address of a network. */
function edges(cidr: string): string[] {
  const [network, bits] = ipaddr.parseCIDR(cidr);
  const first = network.toByteArray();
  const last = first.map((byte, i) => byte | (0xff >> Math.min(8, Math.max(0, bits - i * 8))));
  return [first, last].map((bytes) => ipaddr.fromByteArray(bytes).toString());
}

const excepted = blocks.flatMap(({ except }) => except);

/** IANA's special-purpose registries, multicast, what lies outside 2000::/3, and Azure's host. */
const special = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/3',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '2620:4f:8000::/48',
  '3fff::/20',
  '4000::/2',
  '8000::/1',
];

test('workers reach endpoints on 80 and 443, and nothing else', () => {
  assert.deepEqual(
    policy.spec.egress.flatMap(({ ports }) => ports),
    [
      { protocol: 'TCP', port: 80 },
      { protocol: 'TCP', port: 443 },
    ],
  );
});

for (const cidr of new Set([...special, ...excepted])) {
  test(`neither wall lets ${cidr} through`, () => {
    for (const address of edges(cidr)) {
      assert.equal(lets(address), false, address);
      assert.equal(guard.allows(address), false, address);
    }
  });
}

test('what the address guard refuses, the network refuses too', () => {
  const ipv4 = fc.ipV4();
  const ipv6 = fc
    .array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 })
    .map((parts) => new ipaddr.IPv6(parts).toString());
  const nearby = fc.constantFrom(...excepted.flatMap(edges));
  fc.assert(
    fc.property(fc.oneof(ipv4, ipv6, nearby), (address) => {
      // An address in disguise in the last 64 bits is nothing that a network could see.
      if (address.includes(':') && isIsatap(address)) return;
      assert.ok(guard.allows(address) || !lets(address), address);
    }),
    { numRuns: 5_000 },
  );
});

function isIsatap(address: string): boolean {
  const { parts } = ipaddr.IPv6.parse(address);
  return parts[5] === 0x5efe;
}

test('public addresses pass both walls', () => {
  for (const address of ['1.1.1.1', '93.184.216.34', '2606:4700::1111', '2a00:1450:4001::1']) {
    assert.ok(lets(address), address);
    assert.ok(guard.allows(address), address);
  }
});

test('clouds tell their secrets to nobody', () => {
  for (const address of ['169.254.169.254', '168.63.129.16', '100.100.100.200', 'fd00:ec2::254'])
    assert.equal(lets(address), false, address);
});
