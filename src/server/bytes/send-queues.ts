import { readFileSync } from 'node:fs';
import { isIPv4, type Socket } from 'node:net';
import { bytesOfIPv6 } from '../../platform/http/networks.ts';

/** Tells how many bytes the system holds that the client of a socket has not acknowledged; `null` if it is unknown. */
export type SendQueues = (socket: Socket) => number | null;

const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];
/** Local and remote address with port, state, and the send queue, all hexadecimal. */
const ROW = /^ *\d+: ([0-9A-F]+:[0-9A-F]{4}) ([0-9A-F]+:[0-9A-F]{4}) [0-9A-F]{2} ([0-9A-F]{8}):/gm;

/**
 * Reads the send queues of all connections, as Linux shows them in `/proc/net`. Elsewhere each is unknown.
 *
 * Node cannot ask the system about one socket. Reading the tables takes milliseconds with thousands of connections.
 */
export function readSendQueues(): SendQueues {
  const queues = new Map<string, number>();
  for (const table of TABLES) {
    for (const [, local = '', remote = '', queue = ''] of readTable(table).matchAll(ROW)) {
      queues.set(`${local} ${remote}`, Number.parseInt(queue, 16));
    }
  }
  return ({ localAddress, localPort, remoteAddress, remotePort }) => {
    if (localAddress === undefined || remoteAddress === undefined) return null;
    const local = `${hexOf(localAddress)}:${portOf(localPort)}`;
    return queues.get(`${local} ${hexOf(remoteAddress)}:${portOf(remotePort)}`) ?? null;
  };
}

function readTable(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

function portOf(port: number | undefined): string {
  return (port ?? 0).toString(16).toUpperCase().padStart(4, '0');
}

/** An address as the tables show it: words of four bytes, the last byte of each first. */
function hexOf(address: string): string {
  const bytes = isIPv4(address) ? address.split('.').map(Number) : bytesOfIPv6(address);
  let text = '';
  for (let word = 0; word < bytes.length; word += 4) {
    for (let at = 3; at >= 0; at -= 1) text += (bytes[word + at] ?? 0).toString(16).padStart(2, '0');
  }
  return text.toUpperCase();
}
