import type { Channel } from '../../domain/release/channel.ts';
import type { PendingRelease, ServedRelease, ServingState } from '../serving/serving.ts';

/** The meaning of a path below the CDN host. */
type BytePathTarget =
  | { readonly kind: 'path'; readonly path: string }
  /** Percent-encoding that does not decode to text. */
  | { readonly kind: 'malformed' }
  /** Well-formed, but not a possible name of an entry. */
  | { readonly kind: 'impossible' };

/** The release that a path selects, and the destination in it. */
export interface BytePathSelection {
  readonly release: ServedRelease;
  readonly destination: string;
  /** Whether the path names the release, so that the bytes under it never change. */
  readonly immutable: boolean;
}

const IMPOSSIBLE: BytePathTarget = { kind: 'impossible' };
const DOT_SEGMENT = /(?:^|\/)\.{0,2}(?:\/|$)/;

/**
 * Reads the part of a request target after `/{cdn_host}/`: it drops the query and decodes the rest once. `%2F` means `/`,
 * because generated clients encode a path parameter as one segment. A path with a backslash, NUL or a segment that is empty,
 * `.` or `..` after decoding is not a possible name.
 *
 * @param target a request target in origin form that begins with `prefix`
 * @param prefix `/{cdn_host}/`
 *
 * Source: RFC 3986, sections 2.1 and 3.3.
 */
export function parseBytePathTarget(target: string, prefix: string): BytePathTarget {
  const query = target.indexOf('?');
  const raw = target.slice(prefix.length, query === -1 ? undefined : query);
  if (!target.startsWith(prefix)) return IMPOSSIBLE;
  let path: string;
  try {
    path = raw.includes('%') ? decodeURIComponent(raw) : raw;
  } catch {
    // It throws only URIError: for a broken escape, or for escapes that are not UTF-8.
    return { kind: 'malformed' };
  }
  if (path.includes('\\') || path.includes('\0') || DOT_SEGMENT.test(path)) return IMPOSSIBLE;
  return { kind: 'path', path };
}

/** The release that a path names when it is authorized but not loaded, else `null`. */
export function pendingRelease(path: string, state: ServingState): PendingRelease | null {
  return state.pending.get(path.slice(0, Math.max(0, path.indexOf('/')))) ?? null;
}

/**
 * Finds the release that a path belongs to: the one that its first segment names, or else the current one of the
 * default channel.
 *
 * @returns `null` when no release is current
 */
export function selectRelease(
  path: string,
  state: ServingState,
  defaultChannel: Channel,
): BytePathSelection | null {
  const slash = path.indexOf('/');
  const named = slash === -1 ? undefined : state.byReleaseId.get(path.slice(0, slash));
  if (named !== undefined) return { release: named, destination: path.slice(slash + 1), immutable: true };
  const release = state.current[defaultChannel];
  return release === null ? null : { release, destination: path, immutable: false };
}
