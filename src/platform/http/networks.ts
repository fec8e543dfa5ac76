import { BlockList, isIPv6 } from 'node:net';

interface Network {
  readonly address: string;
  readonly prefix: number;
  readonly family: 'ipv4' | 'ipv6';
}

/**
 * Parses one address or network in CIDR notation.
 *
 * @returns `null` if the text is not an address with an optional prefix length
 */
export function parseNetwork(text: string): Network | null {
  const match = /^([0-9A-Fa-f:.]+)(?:\/(\d{1,3}))?$/.exec(text);
  const address = match?.[1] ?? '';
  const family = familyOf(address);
  const bits = family === 'ipv6' ? 128 : 32;
  const prefix = match?.[2] === undefined ? bits : Number(match[2]);
  if (prefix > bits) return null;
  try {
    new BlockList().addSubnet(address, prefix, family);
  } catch {
    return null;
  }
  return { address, prefix, family };
}

/**
 * Makes the function that tells whether an address is in one of the networks.
 *
 * @throws RangeError when one of them cannot be parsed
 */
export function createNetworkMatcher(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const text of networks) {
    const network = parseNetwork(text);
    if (network === null) throw new RangeError(`${text} is not a network in CIDR notation`);
    list.addSubnet(network.address, network.prefix, network.family);
  }
  return (address) => list.check(address, familyOf(address));
}

/** Returns an IPv4 address that arrived on an IPv6 socket as the IPv4 address; all others stay. */
export function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=[\d.]+$)/i, '');
}

/** An address as the host of a URL: an IPv6 address is in brackets. Source: RFC 3986, section 3.2.2. */
export function urlHost(address: string): string {
  return isIPv6(address) ? `[${address}]` : address;
}

/** The 16 bytes of an IPv6 address. A zone such as `%eth0` is ignored. Source: RFC 4291, section 2.2. */
export function bytesOfIPv6(address: string): readonly number[] {
  const [head = '', tail = ''] = address.replace(/%.*$/, '').split('::', 2);
  const [before, after] = [bytesOfGroups(head), bytesOfGroups(tail)];
  return [...before, ...Array.from({ length: 16 - before.length - after.length }, () => 0), ...after];
}

function bytesOfGroups(text: string): readonly number[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (group.includes('.')) return group.split('.').map(Number);
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}

function familyOf(address: string): Network['family'] {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}
