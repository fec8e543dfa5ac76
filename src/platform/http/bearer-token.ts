/** The characters of a bearer token. Source: RFC 6750, section 2.1. */
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;

/** The rule of {@link isBearerToken}, for messages. */
export const BEARER_TOKEN_RULE = 'it must be one line of letters, digits and -._~+/=';

/** Whether a text can be sent as a bearer token. */
export function isBearerToken(text: string): boolean {
  return TOKEN.test(text);
}
