import { BlockList, isIP } from 'node:net';

/**
 * Addresses that are not on the public internet. Source: RFC 6890 and the IANA special-purpose address registries: this
 * host, private, shared, loopback, link-local (also of clouds' metadata services), benchmarking, unique-local, 6to4, multicast
 * and reserved. An IPv4 address that is mapped into IPv6 counts as that IPv4 address.
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
  '::/128',
  '::1/128',
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
const PRIVATE = blockListOf([...PRIVATE_RANGES, ...TRANSLATED_RANGES]);

/**
 * Whether an address is private and in none of the allowed ranges.
 *
 * @param allowedRanges ranges in CIDR notation, each checked with {@link isAddressRange}
 */
export function isPrivateAddress(address: string, allowedRanges: readonly string[]): boolean {
  return covers(PRIVATE, address) && !covers(blockListOf(allowedRanges), address);
}

/** Whether a text is a range in CIDR notation. */
export function isAddressRange(text: string): boolean {
  try {
    blockListOf([text]);
    return true;
  } catch {
    return false;
  }
}

function blockListOf(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [, address = '', prefix = ''] = /^([0-9A-Fa-f.:]+)\/([0-9]{1,3})$/.exec(range) ?? [];
    list.addSubnet(address, Number(prefix), familyOf(address));
  }
  return list;
}

function covers(list: BlockList, address: string): boolean {
  return list.check(address, familyOf(address));
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}
