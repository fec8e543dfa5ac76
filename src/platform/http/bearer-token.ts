/** The characters of a bearer token. Source: RFC 6750, section 2.1. */
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;

/** The start of an Authorization field of this scheme. Source: RFC 9110, section 11.1: the case does not matter. */
const SCHEME = /^Bearer(?: |$)/i;

/**
 * The token of the value of an `Authorization` field. A malformed token is returned as it is: it is a credential too,
 * and {@link isBearerToken} tells.
 *
 * @returns `null` for another scheme
 */
export function bearerTokenOf(authorization: string): string | null {
  return SCHEME.test(authorization) ? authorization.replace(SCHEME, '').trim() : null;
}

/** The rule of {@link isBearerToken}, for messages. */
export const BEARER_TOKEN_RULE = 'it must be one line of letters, digits and -._~+/=';

/** Whether a text can be sent as a bearer token. */
export function isBearerToken(text: string): boolean {
  return TOKEN.test(text);
}
