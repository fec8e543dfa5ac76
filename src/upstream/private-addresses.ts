import { createNetworkMatcher, parseNetwork } from '../platform/http/networks.ts';

/**
 * Addresses that are not on the public internet. Source: RFC 6890 and the IANA special-purpose address registries: this
 * host, private, shared, loopback, link-local (also of clouds' metadata services), benchmarking, unique-local, multicast
 * and reserved. IPv6 addresses that contain an IPv4 address of another network: IPv4-compatible (RFC 4291, section 2.5.5.1),
 * IPv4-translated (RFC 2765, section 2.1), Teredo (RFC 4380) and 6to4 (RFC 3056). An IPv4 address that is mapped into IPv6
 * counts as that IPv4 address.
 */
const PRIVATE_RANGES = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/96',
  '::ffff:0:0:0/96',
  '2001::/32',
  '2002::/16',
  '64:ff9b:1::/48',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
];
/** The same IPv4 ranges behind a NAT64 gateway. Source: RFC 6052, section 2.1. */
const TRANSLATED_RANGES = PRIVATE_RANGES.filter((range) => !range.includes(':')).map((range) => {
  const [address = '', prefix = ''] = range.split('/');
  return `64:ff9b::${address}/${96 + Number(prefix)}`;
});
const isInPrivateRange = createNetworkMatcher([...PRIVATE_RANGES, ...TRANSLATED_RANGES]);

/**
 * Creates the check whether an address is private and in none of the allowed ranges.
 *
 * @param allowedRanges ranges in CIDR notation, each checked with {@link isAddressRange}
 */
export function createPrivateAddressCheck(allowedRanges: readonly string[]): (address: string) => boolean {
  const isAllowed = createNetworkMatcher(allowedRanges);
  return (address) => isInPrivateRange(address) && !isAllowed(address);
}

/** Whether a text is a range in CIDR notation. A single address needs its prefix length too. */
export function isAddressRange(text: string): boolean {
  return text.includes('/') && parseNetwork(text) !== null;
}
