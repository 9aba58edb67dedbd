import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import ipaddr from 'ipaddr.js';
import { AddressGuard, prefixesIn } from '../../../src/delivery/http/address-guard.ts';
import { PostriderError } from '../../../src/errors.ts';

/** IANA's special-purpose and IPv6 address space registries, with multicast. */
const notPublic = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.0.2.0/24', '192.31.196.0/24', '192.52.193.0/24', '192.88.99.0/24'],
  ...['192.168.0.0/16', '192.175.48.0/24', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4', '255.255.255.255/32'],
  ...['::/128', '::1/128', '::/96', '::ffff:0:0:0/96', '64:ff9b:1::/48', '100::/64'],
  ...['100:0:0:1::/64', '2001::/23', '2001::/32', '2001:1::/32', '2001:2::/48', '2001:3::/32'],
  ...[
    '2001:4:112::/48',
    '2001:10::/28',
    '2001:20::/28',
    '2001:30::/28',
    '2001:db8::/32',
    '2002::/16',
  ],
  ...[
    '2620:4f:8000::/48',
    '3fff::/20',
    '5f00::/16',
    'fc00::/7',
    'fe80::/10',
    'fec0::/10',
    'ff00::/8',
  ],
  ...['::/8', '100::/8', '200::/7', '400::/6', '800::/5', '1000::/4', '4000::/3', '6000::/3'],
  ...['8000::/3', 'a000::/3', 'c000::/3', 'e000::/4', 'f000::/5', 'f800::/6', 'fe00::/9'],
];

/** Right beside such ranges. */
const beside = [
  ...['1.0.0.0', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255'],
  ...['128.0.0.0', '169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0', '192.0.1.0'],
  ...['192.167.255.255', '192.169.0.0', '198.17.255.255', '198.20.0.0', '223.255.255.255'],
  ...['168.63.129.15', '168.63.129.17', '2001:200::', '2001:db9::', '2003::', '2600::', '2c0f::1'],
];

const disguised = [
  ...[
    '168.63.129.16',
    '::ffff:127.0.0.1',
    '::ffff:169.254.169.254',
    '::ffff:a9fe:a9fe',
    '::8.8.8.8',
  ],
  ...['::ffff:8.8.8.8%eth0', 'fe80::1%1', '2606:4700::5efe:7f00:1', '2606:4700::200:5efe:7f00:1'],
];

describe('the address guard', () => {
  const guard = new AddressGuard([]);

  test('refuses the first and the last address of every range that is not public', () => {
    for (const range of notPublic) {
      const version = range.includes(':') ? ipaddr.IPv6 : ipaddr.IPv4;
      for (const address of [
        version.networkAddressFromCIDR(range),
        version.broadcastAddressFromCIDR(range),
      ])
        assert.equal(guard.allows(address.toString()), false, `${address.toString()} of ${range}`);
    }
  });

  test('lets the addresses beside them through', () => {
    for (const address of beside) assert.equal(guard.allows(address), true, address);
  });

  test('refuses an address in every disguise, and what is none', () => {
    for (const address of disguised) assert.equal(guard.allows(address), false, address);
    for (const text of ['', 'localhost', '1.2.3', '127.1', '0x7f000001'])
      assert.equal(guard.allows(text), false, text);
  });

  test('takes an address that is mapped into IPv6 for the one that it leads to', () => {
    assert.equal(guard.allows('::ffff:8.8.8.8'), true);
    assert.equal(new AddressGuard(['10.0.0.0/8']).allows('::ffff:10.1.2.3'), true);
    assert.equal(new AddressGuard(['::ffff:10.0.0.0/104']).allows('10.1.2.3'), true);
    assert.equal(new AddressGuard(['::ffff:10.0.0.0/104']).allows('192.168.0.1'), false);
  });

  test('judges an address that NAT64 translates by the IPv4 address in it', () => {
    assert.equal(guard.allows('64:ff9b::8.8.8.8'), true);
    for (const inner of ['64:ff9b::10.0.0.1', '64:ff9b::127.0.0.1', '64:ff9b::169.254.169.254'])
      assert.equal(guard.allows(inner), false, inner);
    assert.equal(new AddressGuard(['10.0.0.0/8']).allows('64:ff9b::10.0.0.1'), true);
    assert.equal(new AddressGuard(['64:ff9b::/96']).allows('64:ff9b::10.0.0.1'), false);
  });

  test("judges likewise by a network's own prefix of NAT64, of each length", () => {
    // RFC 6052 §2.4, of 192.0.2.33, and with 8.8.8.8 and 10.0.0.1 in its place.
    for (const [bits, probe, outer, inner] of [
      [32, '2001:67c:c000:aa::', '2001:67c:808:808::', '2001:67c:a00:1::'],
      [40, '2001:67c:1c0:0:aa::', '2001:67c:108:808:8::', '2001:67c:10a:0:1::'],
      [48, '2001:67c:122:c000:0:aa00::', '2001:67c:122:808:8:800::', '2001:67c:122:a00:0:100::'],
      [56, '2001:67c:122:3c0:0:aa::', '2001:67c:122:308:8:808::', '2001:67c:122:30a:0:1::'],
      [
        64,
        '2001:67c:122:344:c0:0:aa00:0',
        '2001:67c:122:344:8:808:800:0',
        '2001:67c:122:344:a:0:100:0',
      ],
      [
        96,
        '2001:67c:122:344::192.0.0.170',
        '2001:67c:122:344::8.8.8.8',
        '2001:67c:122:344::10.0.0.1',
      ],
    ] as const) {
      const network = new AddressGuard([]);
      assert.deepEqual(
        prefixesIn([probe]).map((prefix) => prefix.bits),
        [bits],
      );
      network.setPrefixes(prefixesIn([probe]));
      assert.equal(network.allows(outer), true, `/${bits}: ${outer}`);
      assert.equal(network.allows(inner), false, `/${bits}: ${inner}`);
    }
  });

  test('lets the networks through that the operator named, and only those', () => {
    const opened = new AddressGuard(['127.0.0.0/8', 'fd00::/8']);
    for (const address of ['127.0.0.1', '::ffff:127.9.9.9', 'fd12::1'])
      assert.equal(opened.allows(address), true, address);
    for (const address of ['10.0.0.1', '::1', 'fc00::1'])
      assert.equal(opened.allows(address), false, address);
  });

  test('refuses to be made with what is no network, and says which', () => {
    assert.throws(
      () => new AddressGuard(['127.0.0.0/8', 'nonsense']),
      (error) => error instanceof PostriderError && error.message.includes("'nonsense'"),
    );
  });
});
