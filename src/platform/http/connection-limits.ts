import { BlockList, isIPv6 } from 'node:net';

/** How many connections a server holds. */
export interface ConnectionLimits {
  /** Maximum number of open connections; at the limit the connection that has been idle for longest gives way. */
  readonly connections: number;
  /** Maximum number of open connections of one client address; 0: no limit. */
  readonly connectionsPerAddress: number;
  /** Addresses without a limit of their own, in CIDR notation. */
  readonly trustedProxies: readonly string[];
}

/** No limit at all. */
export const UNLIMITED_CONNECTIONS: ConnectionLimits = {
  connections: Number.POSITIVE_INFINITY,
  connectionsPerAddress: 0,
  trustedProxies: [],
};

/**
 * Parses one address or network.
 *
 * @returns `null` if the text is not an address with an optional prefix length
 */
export function parseNetwork(
  text: string,
): { readonly address: string; readonly prefix: number; readonly family: 'ipv4' | 'ipv6' } | null {
  const match = /^([0-9A-Fa-f:.]+)(?:\/(\d{1,3}))?$/.exec(text);
  const address = match?.[1] ?? '';
  const family = isIPv6(address) ? 'ipv6' : 'ipv4';
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

/** Makes the function that tells whether an address is in one of the networks. */
export function createNetworkMatcher(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const text of networks) {
    const network = parseNetwork(text);
    if (network === null) throw new RangeError(`${text} is not a network in CIDR notation`);
    list.addSubnet(network.address, network.prefix, network.family);
  }
  return (address) => list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

/** An address as the client has it: an IPv4 address may arrive on an IPv6 socket. */
export function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=[\d.]+$)/i, '');
}

/** The number of leading groups of an IPv6 address that name a network. A client can use every address in it. */
const NETWORK_GROUPS = 4;

/** The name under which the connections of a client are counted: its IPv4 address or its /64 of IPv6. */
export function clientKey(address: string): string {
  if (!isIPv6(address)) return address;
  const [head = '', tail] = address.replace(/%.*$/, '').split('::', 2);
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length);
  const groups = [...before, ...Array.from({ length: zeros }, () => '0'), ...after];
  return `${groups.slice(0, NETWORK_GROUPS).join(':')}::/64`;
}
