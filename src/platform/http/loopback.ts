import { isIP } from 'node:net';

/**
 * Whether a host is a name or an address that only this machine reaches.
 *
 * @param host without a port; an IPv6 address may be in brackets
 */
export function isLoopbackHost(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  return bare === 'localhost' || bare === '::1' || (isIP(bare) === 4 && bare.startsWith('127.'));
}
