/** Replaces a secret. */
const REDACTED = '[redacted]';

const HAS_SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i;

/**
 * Makes a configuration value fit to be shown: credentials and queries of URLs are taken out, secrets whole.
 *
 * @param secret whether the key was marked `.meta({ secret: true })`
 */
export function redactValue(value: unknown, secret: boolean): unknown {
  if (value === null || value === undefined) return value;
  if (secret) return REDACTED;
  if (typeof value === 'string') return redactText(value);
  if (Array.isArray(value)) return value.map((item) => redactValue(item, false));
  if (typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redactValue(item, false)]));
  }
  return value;
}

function redactText(text: string): string {
  if (!HAS_SCHEME.test(text)) return text;
  // Text, not the URL class: that would normalize the text of the user, and cannot read malformed URLs.
  const end = text.search(/[?#]/);
  const address = end === -1 ? text : text.slice(0, end);
  const shown = address.replace(/^([^:]+:\/\/)[^/]*@/, `$1${REDACTED}@`);
  return end === -1 ? shown : `${shown}${text.charAt(end)}${REDACTED}`;
}
