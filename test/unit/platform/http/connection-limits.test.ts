import { describe, expect, it } from 'vitest';
import {
  clientKey,
  createNetworkMatcher,
  parseNetwork,
  plainAddress,
} from '../../../../src/platform/http/connection-limits.ts';

describe('networks', () => {
  it.each(['10.0.0.0/8', '192.0.2.7', '2001:db8::/32', '::1'])('accepts %s', (text) => {
    expect(parseNetwork(text)).not.toBeNull();
  });

  it.each([
    '',
    'proxy.example',
    '10.0.0.0/33',
    '10.0.0/8',
    '::1/129',
    '10.0.0.0/',
    '10.0.0.0/-1',
    '1.2.3.4/8/8',
  ])('rejects "%s"', (text) => {
    expect(parseNetwork(text)).toBeNull();
  });

  it('match the addresses in them', () => {
    const matches = createNetworkMatcher(['10.0.0.0/8', '192.0.2.7', '2001:db8::/32']);
    const addresses = [
      '10.200.0.1',
      '192.0.2.7',
      '2001:db8:1::5',
      '11.0.0.1',
      '192.0.2.8',
      '2001:db9::1',
      '',
    ];
    expect(addresses.map(matches)).toEqual([true, true, true, false, false, false, false]);
    expect(createNetworkMatcher([])('10.0.0.1')).toBe(false);
  });
});

it.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2:ffff::1', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
])('counts %s as %s', (address, key) => {
  expect(clientKey(plainAddress(address))).toBe(key);
});
