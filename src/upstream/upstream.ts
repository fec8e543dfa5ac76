import { instant } from '../domain/instant.ts';
import type { Destination } from '../domain/release/destination.ts';
import type { ReleaseId } from '../domain/release/release-id.ts';
import { messageOf } from '../platform/errors.ts';

export interface UpstreamEntry {
  readonly destination: Destination;
  /** Bytes, or `null` where the catalog does not say. */
  readonly size: number | null;
  /** Digests that the catalog states; lower-case hexadecimal, `crc32` unsigned decimal. */
  readonly digests: {
    readonly blake3?: string;
    readonly sha256?: string;
    readonly md5?: string;
    readonly crc32?: string;
  };
  /** Where the catalog lists it, for messages about its entries, such as `entries[3]`. */
  readonly place?: string;
  /** Where the adapter finds the bytes: a path or a URL, meaningful to that adapter alone. */
  readonly locator: string;
}

/** One release as upstream describes it. Entries are streamed: a catalog may hold hundreds of thousands. */
export interface UpstreamCatalog {
  readonly releaseId: ReleaseId;
  readonly appVersion: string | null;
  /** The server-info document that belongs to the release, at most 4 MiB; `null` where upstream has none. */
  readonly serverInfo: Uint8Array | null;
  /** The validator to send next time (`ETag`), or `null`. */
  readonly etag: string | null;
  /**
   * The entries, in upstream's order, each already parsed and bounded.
   *
   * @throws UpstreamError when the catalog breaks off, is malformed or breaks a bound
   */
  entries(signal: AbortSignal): AsyncIterable<UpstreamEntry>;
  /**
   * Identifies the whole catalog: BLAKE3 of the bytes read, lower-case hexadecimal. Only after `entries` has ended.
   * Two catalogs with one fingerprint describe the same release with the same entries.
   */
  fingerprint(): string;
  /** Entries that were left out on purpose. Only after `entries` has ended; absent where none can be. */
  excluded?(): number;
}

/** The bytes of one entry as upstream sends them. */
export interface UpstreamBody {
  /** Offset of the first byte; 0 when upstream ignored the range asked for. */
  readonly start: number;
  /** Size of the whole file in bytes, where upstream says. */
  readonly totalSize: number | null;
  /** Strong validator for a later resume, or `null`. Without one, only a stated digest can tell whether a resumed file is whole. */
  readonly validator: string | null;
  /** The content coding that upstream named although none was asked for. A decoded body is never resumed: its offsets mean nothing. */
  readonly coding?: { readonly name: string; readonly isDecoded: boolean };
  /** The bytes; iterating throws UpstreamError on a stall, a reset or a truncated body. */
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** Where an entry is opened, and how. */
export interface EntryStart {
  /** Offset of the first byte wanted. */
  readonly start: number;
  /** The validator under which the bytes before it were received, or `null`. */
  readonly validator: string | null;
  /** Whether bytes that arrived before were wrong, so that a cache in between must not answer. */
  readonly pastCaches?: boolean;
}

export interface UpstreamHealth {
  readonly ok: boolean;
  readonly message: string;
}

/** The interface of every source of releases; the plug-in point for new kinds of upstream. */
export interface UpstreamAdapter {
  readonly kind: string;
  /** Where it reads from, with credentials removed: for logs and reports. */
  readonly label: string;
  /** A cheap check whether upstream answers. Never throws. */
  probe(signal: AbortSignal): Promise<UpstreamHealth>;
  /**
   * Fetches the description of the release that is current upstream.
   *
   * @param previousEtag the validator of the catalog already held, or `null`
   * @returns `null` when upstream says that it has not changed
   * @throws UpstreamError
   */
  fetchCatalog(previousEtag: string | null, signal: AbortSignal): Promise<UpstreamCatalog | null>;
  /**
   * Opens the bytes of one entry.
   *
   * @throws UpstreamError
   */
  open(entry: UpstreamEntry, from: EntryStart, signal: AbortSignal): Promise<UpstreamBody>;
}

export const UPSTREAM_ERROR_CODES = [
  'upstream_unreachable',
  'upstream_timeout',
  'upstream_status',
  'upstream_throttled',
  'upstream_truncated',
  'upstream_not_found',
  'upstream_forbidden',
  'upstream_not_modified',
  'upstream_closed',
  'upstream_address_refused',
  'catalog_invalid',
  'catalog_too_large',
  'catalog_empty',
  'destination_invalid',
  'destination_duplicate',
  'size_mismatch',
  'digest_mismatch',
  'catalog_changed',
] as const;

export type UpstreamErrorCode = (typeof UPSTREAM_ERROR_CODES)[number];

/** An upstream that failed, and whether trying again can help; by default it cannot. */
export class UpstreamError extends Error {
  readonly code: UpstreamErrorCode;
  readonly retryable: boolean;
  /** Milliseconds that upstream asked to wait (`Retry-After`), or `null`. */
  readonly retryAfterMs: number | null;

  constructor(
    code: UpstreamErrorCode,
    message: string,
    options: {
      readonly retryable?: boolean;
      readonly retryAfterMs?: number | null;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'UpstreamError';
    this.code = code;
    this.retryable = options.retryable ?? false;
    this.retryAfterMs = options.retryAfterMs ?? null;
  }

  /** The same failure, with a sentence more in its message. */
  withReason(reason: string): UpstreamError {
    const { code, message, retryable, retryAfterMs, cause } = this;
    return new UpstreamError(code, `${message}; ${reason}`, { retryable, retryAfterMs, cause });
  }
}

/** Whether an entry states a digest, which tells whether received bytes are its bytes. */
export function statesDigest({ digests }: UpstreamEntry): boolean {
  return Object.values(digests).some((digest) => digest !== undefined);
}

/** Whether the bytes themselves are wrong: a catalog, a file or a copy in a cache is not of the same release as the others. */
export function isMismatch(error: UpstreamError): boolean {
  return error.code === 'digest_mismatch' || error.code === 'size_mismatch';
}

/**
 * The message of a failure, with the time before which upstream does not want to be asked again.
 *
 * @param now Unix milliseconds at which it failed
 */
export function failureText(error: unknown, now: number): string {
  const askedMs = error instanceof UpstreamError ? (error.retryAfterMs ?? 0) : 0;
  return askedMs === 0
    ? messageOf(error)
    : `${messageOf(error)}, not before ${instant((now + askedMs) / 1000)}`;
}

/** The fingerprint of a catalog, which is known once its entries were read. */
export function createFingerprint(): { set(value: string): void; readonly read: () => string } {
  let fingerprint: string | null = null;
  return {
    set: (value) => {
      fingerprint = value;
    },
    read: () => {
      if (fingerprint !== null) return fingerprint;
      throw new Error('the fingerprint of a catalog is known once its entries were read');
    },
  };
}
