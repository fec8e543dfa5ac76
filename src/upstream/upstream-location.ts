export interface UpstreamLocation {
  /** Without userinfo and without a trailing slash. */
  readonly url: string;
  /** `scheme://host:port`, as `URL.origin` renders it. */
  readonly origin: string;
  /** Value of the `Authorization` header (RFC 7617), or `null` where the URL carries no userinfo. */
  readonly authorization: string | null;
}

/**
 * Splits a configured URL into location and credentials.
 *
 * @param text an absolute http(s) URL that the configuration schema accepted
 */
export function parseUpstreamLocation(text: string): UpstreamLocation {
  const url = new URL(text);
  const user = decodeURIComponent(url.username);
  const password = decodeURIComponent(url.password);
  const authorization =
    user === '' && password === ''
      ? null
      : `Basic ${Buffer.from(`${user}:${password}`, 'utf8').toString('base64')}`;
  url.username = '';
  url.password = '';
  return { url: url.href.replace(/\/+$/, ''), origin: url.origin, authorization };
}

/**
 * Makes a location whose credentials change while it is used, such as those of a file.
 *
 * @returns the location, and the function that sets its `authorization`
 */
export function withNewAuthorization(location: UpstreamLocation): {
  readonly location: UpstreamLocation;
  readonly authorize: (authorization: string) => void;
} {
  let { authorization } = location;
  return {
    location: {
      ...location,
      get authorization() {
        return authorization;
      },
    },
    authorize: (value) => {
      authorization = value;
    },
  };
}

/**
 * Renders a URL for logs and messages: no userinfo, no query, no fragment (each may hold a credential), at most 300
 * characters.
 */
export function redactUrl(text: string): string {
  if (!URL.canParse(text)) return '(not a URL)';
  const url = new URL(text);
  const query = url.search === '' ? '' : '?…';
  const shown = `${url.protocol}//${url.host}${url.pathname}${query}`;
  return shown.length > 300 ? `${shown.slice(0, 299)}…` : shown;
}

/** URLs of object stores, which only their own programs read. Some carry a key and its secret, which may hold slashes. */
const BUCKET = /^(s3|gs|az|r2|b2):\/\/(?:[^/?#\s:@]*(?::[^?#\s]*?)?@)?([^/?#\s@]+)(\/[^?#\s]*)?$/i;

/**
 * Says how a bucket can be an upstream.
 *
 * @param text such as `s3://bucket/folder`
 * @returns what to use instead, in one sentence; `null` when the text names no bucket
 */
export function bucketAdvice(text: string): string | null {
  const [, scheme, bucket, path = '/'] = BUCKET.exec(text) ?? [];
  if (scheme === undefined || bucket === undefined) return null;
  const folder = path.replace(/\/*$/, '/');
  return (
    `a bucket is read over HTTP: use the HTTPS URL of a public one (for S3 such as https://${bucket}.s3.REGION.amazonaws.com${folder}), ` +
    'name presigned URLs in its release.json, or let rclone serve a private one beside the daemon ' +
    `(rclone serve http REMOTE:${bucket}${folder} --read-only --addr 127.0.0.1:8081) and use http://127.0.0.1:8081/; ` +
    'docs/how-to/folders-and-buckets.md has the steps'
  );
}

/** Quotes untrusted text for a message: JSON escapes, no control characters, at most 200 characters. */
export function quoteText(text: string): string {
  const shown = text.length > 200 ? `${text.slice(0, 199)}…` : text;
  return JSON.stringify(shown.toWellFormed()).replace(
    /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
