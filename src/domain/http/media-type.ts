/** The media type of unknown bytes (RFC 2046, section 4.5.1). */
export const DEFAULT_MEDIA_TYPE = 'application/octet-stream';

// Sources: the IANA media type registry; JSON RFC 8259, CSV RFC 4180, XML RFC 7303, fonts RFC 8081, WebP RFC 9649.
const MEDIA_TYPES: ReadonlyMap<string, string> = new Map([
  ['json', 'application/json'],
  ['zip', 'application/zip'],
  ['gz', 'application/gzip'],
  ['pdf', 'application/pdf'],
  ['wasm', 'application/wasm'],
  ['xml', 'application/xml'],
  ['sqlite', 'application/vnd.sqlite3'],
  ['sqlite3', 'application/vnd.sqlite3'],
  ['db', 'application/vnd.sqlite3'],
  ['txt', 'text/plain; charset=utf-8'],
  ['md', 'text/markdown; charset=utf-8'],
  ['csv', 'text/csv; charset=utf-8'],
  ['tsv', 'text/tab-separated-values; charset=utf-8'],
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['gif', 'image/gif'],
  ['webp', 'image/webp'],
  ['mp3', 'audio/mpeg'],
  ['ogg', 'audio/ogg'],
  ['wav', 'audio/vnd.wave'],
  ['m4a', 'audio/mp4'],
  ['mp4', 'video/mp4'],
  ['webm', 'video/webm'],
  ['ttf', 'font/ttf'],
  ['otf', 'font/otf'],
  ['woff', 'font/woff'],
  ['woff2', 'font/woff2'],
]);

/**
 * The media type of an entry, by the extension of its last segment. Nothing that a browser would run as a page
 * (`html`, `svg`, `js`) is named as such: the service delivers game resources, so those stay octets.
 *
 * @returns a media type for `Content-Type`; {@link DEFAULT_MEDIA_TYPE} when the extension is not known
 */
export function mediaTypeOf(destination: string): string {
  const name = destination.slice(destination.lastIndexOf('/') + 1);
  const dot = name.lastIndexOf('.');
  if (dot <= 0) return DEFAULT_MEDIA_TYPE;
  return MEDIA_TYPES.get(name.slice(dot + 1).toLowerCase()) ?? DEFAULT_MEDIA_TYPE;
}
