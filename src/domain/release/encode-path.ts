/** Percent-encodes a release-relative path segment by segment, so that it can be appended to a URL. */
export function encodePath(path: string): string {
  // Most paths need nothing, and there may be millions.
  if (/^[A-Za-z0-9._~/-]*$/.test(path)) return path;
  return path.split('/').map(encodeURIComponent).join('/');
}
