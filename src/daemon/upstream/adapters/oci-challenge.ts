import { BundleError } from '../../../mirror/bundle/bundle-error.ts';

/** Where a registry wants a token from. */
export interface BearerChallenge {
  /** URL of the token service. */
  readonly realm: string;
  readonly service: string | null;
  readonly scope: string | null;
}

/**
 * Reads the field `WWW-Authenticate` of a registry.
 *
 * @param registry base URL of the registry
 * @returns `null` when it wants no bearer token
 * @throws BundleError when the token service must not get a password: it is not a URL, or http behind a registry of https
 *
 * Source: RFC 6750, section 3; RFC 9110, section 11.6.1.
 */
export function parseChallenge(field: string, registry: string): BearerChallenge | null {
  if (!/^Bearer\s/i.test(field)) return null;
  const parameters = new Map(
    [...field.matchAll(/([A-Za-z_]+)="([^"\\]*)"/g)].map(([, name = '', value = '']) => [
      name.toLowerCase(),
      value,
    ]),
  );
  const realm = parameters.get('realm') ?? '';
  const url = URL.canParse(realm) ? new URL(realm) : null;
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && registry.startsWith('http:'));
  if (!isSafe)
    throw new BundleError(
      `${registry} names the token service ${JSON.stringify(realm)}, which is not safe to ask`,
    );
  return { realm, service: parameters.get('service') ?? null, scope: parameters.get('scope') ?? null };
}
