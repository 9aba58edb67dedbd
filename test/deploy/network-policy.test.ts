import assert from 'node:assert/strict';
import ipaddr from 'ipaddr.js';
import fc from '../harness/fast-check.ts';
import { test } from 'node:test';
import { AddressGuard } from '../../src/delivery/http/address-guard.ts';
import { readManifests, type PodTemplate } from './manifest.ts';
import { edges, specialNetworks, Traffic, type NetworkPolicy } from './traffic.ts';

const [policy] = readManifests<NetworkPolicy>('components/network-policy/endpoints.yaml');
assert.ok(policy);
const traffic = new Traffic([policy]);
const guard = new AddressGuard([]);
const worker = {
  metadata: { labels: { 'app.kubernetes.io/name': 'postrider-delivery' } },
} as unknown as PodTemplate;

function lets(address: string): boolean {
  return traffic.mayReach(worker, { address }, { protocol: 'TCP', port: 443 });
}

const excepted = (policy.spec.egress ?? []).flatMap(({ to = [] }) =>
  to.flatMap(({ ipBlock }) => ipBlock?.except ?? []),
);

test('workers reach endpoints on 80 and 443, and nothing else', () => {
  assert.deepEqual(
    policy.spec.egress?.flatMap(({ ports }) => ports),
    [
      { protocol: 'TCP', port: 80 },
      { protocol: 'TCP', port: 443 },
    ],
  );
});

for (const cidr of new Set([...specialNetworks, ...excepted])) {
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
