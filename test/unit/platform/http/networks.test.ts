import { describe, expect, it } from 'vitest';
import { bytesOfIPv6, createNetworkMatcher, parseNetwork } from '../../../../src/platform/http/networks.ts';

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

describe('the bytes of an IPv6 address', () => {
  it.each([
    ['::', '00'.repeat(16)],
    ['::1', `${'00'.repeat(15)}01`],
    ['1:23:456:789a::', `000100230456789a${'00'.repeat(8)}`],
    ['2001:db8:1:2:3:4:5:6', '20010db8000100020003000400050006'],
    ['fe80::1%eth0', `fe80${'00'.repeat(13)}01`],
    ['::ffff:192.0.2.7', `${'00'.repeat(10)}ffffc0000207`],
  ])('%s are %s', (address, bytes) => {
    expect(Buffer.from(bytesOfIPv6(address)).toString('hex')).toBe(bytes);
  });
});
