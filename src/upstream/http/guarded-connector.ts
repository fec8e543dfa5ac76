import { lookup, type LookupAddress, type LookupOptions } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { createPrivateAddressCheck } from '../private-addresses.ts';
import { UpstreamError } from '../upstream.ts';

type Connector = ReturnType<typeof buildConnector>;

type ResolveAll = (
  hostname: string,
  options: LookupOptions & { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

interface GuardedConnectorOptions {
  /** Maximum wait for a connection, milliseconds. */
  readonly timeoutMs: number;
  /** Origin that the operator configured; it may have any address. */
  readonly origin: string;
  /** Private ranges that other origins may have as well, in CIDR notation. */
  readonly allowedRanges: readonly string[];
  readonly resolve?: ResolveAll;
}

/**
 * Creates a connector that refuses private addresses of all origins except the configured one. It checks the address
 * of the connection itself, after the name was resolved, so that neither a redirect nor a name that resolves to
 * another address the second time (DNS rebinding) leads into the operator's network.
 *
 * The connector fails with UpstreamError `upstream_address_refused`.
 */
export function createGuardedConnector(options: GuardedConnectorOptions): Connector {
  const { origin, resolve = lookup } = options;
  const timeout = options.timeoutMs;
  const isRefused = createPrivateAddressCheck(options.allowedRanges);
  const guardedLookup: LookupFunction = (hostname, lookupOptions, callback) => {
    resolve(hostname, { ...lookupOptions, all: true }, (error, addresses) => {
      const usable = error === null ? addresses.filter(({ address }) => !isRefused(address)) : [];
      const [first] = usable;
      if (error !== null) callback(error, '');
      else if (first === undefined)
        callback(refusedAddress(hostname, addresses[0]?.address ?? 'no address'), '');
      else if (lookupOptions.all === true) callback(null, usable);
      else callback(null, first.address, first.family);
    });
  };
  const connectFreely = buildConnector({ timeout });
  const connectGuarded = buildConnector({ timeout, lookup: guardedLookup });
  return (target, callback) => {
    const hostname = target.hostname.replace(/^\[|\]$/g, '');
    const asked = new URL(`${target.protocol}//${target.host ?? target.hostname}`);
    if (asked.origin === origin) connectFreely(target, callback);
    // A literal address is never looked up.
    else if (isIP(hostname) !== 0 && isRefused(hostname)) callback(refusedAddress(hostname, hostname), null);
    else connectGuarded(target, callback);
  };
}

function refusedAddress(hostname: string, address: string): UpstreamError {
  return new UpstreamError(
    'upstream_address_refused',
    `${hostname} has the private address ${address}, and upstream sent the daemon there; if that is right, list its ` +
      'range in upstream.allowedPrivateRanges',
  );
}
