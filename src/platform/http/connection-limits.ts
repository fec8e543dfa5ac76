import { isIPv6 } from 'node:net';
import { bytesOfIPv6 } from './networks.ts';

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

/** The number of leading bytes of an IPv6 address that name a network. A client can use every address in it. */
const NETWORK_BYTES = 8;

/** The name under which the connections of a client are counted: its IPv4 address or its /64 of IPv6. */
export function clientKey(address: string): string {
  if (!isIPv6(address)) return address;
  const bytes = Buffer.from(bytesOfIPv6(address));
  const groups: string[] = [];
  for (let at = 0; at < NETWORK_BYTES; at += 2) groups.push(bytes.readUInt16BE(at).toString(16));
  return `${groups.join(':')}::/64`;
}
