import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AddressGuard } from '../../src/delivery/address-guard.ts';
import { PostriderError } from '../../src/errors.ts';

const refused = [
  ...['0.0.0.0', '10.1.2.3', '100.64.0.1', '127.0.0.1', '169.254.169.254', '172.16.0.1'],
  ...['192.0.0.1', '192.0.2.1', '192.168.1.1', '198.18.0.1', '198.51.100.1', '203.0.113.1'],
  ...['224.0.0.1', '240.0.0.1', '255.255.255.255'],
  ...['::', '::1', '::7f00:1', '::ffff:127.0.0.1', '::ffff:169.254.169.254', '::ffff:8.8.8.8%eth0'],
  ...['64:ff9b::a9fe:a9fe', '2002:7f00:1::', '2001:0:53aa:64c::1', 'fc00::1', 'fd12::1', 'fe80::1'],
  ...['fec0::1', 'ff02::1', '2001:db8::1', '2606:4700::5efe:7f00:1', '2606:4700::200:5efe:7f00:1'],
  ...['', 'localhost', '1.2.3'],
];

describe('the address guard', () => {
  const guard = new AddressGuard([]);

  test('refuses every address that is not public, in every disguise', () => {
    for (const address of refused) assert.equal(guard.allows(address), false, address);
  });

  test('lets public addresses through', () => {
    for (const address of ['8.8.8.8', '93.184.216.34', '2606:4700::1111', '::ffff:8.8.8.8'])
      assert.equal(guard.allows(address), true, address);
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
