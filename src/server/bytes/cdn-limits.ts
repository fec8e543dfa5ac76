const MEBIBYTE = 1024 * 1024;

/** The bounds of the byte path. */
export interface CdnLimits {
  /** Maximum number of descriptors kept open for objects that nobody reads just now. */
  readonly openDescriptors: number;
  /** Bytes for verified blocks kept in memory, with buffers that wait for the next read. */
  readonly blockCacheBytes: number;
  /** Bytes read but not yet taken by the network, over all clients; near it, clients get small slices. */
  readonly inFlightBytes: number;
  /** Maximum number of objects of which it is remembered which blocks were verified. */
  readonly verifiedObjects: number;
  /** A client that takes fewer bytes a second than this, for longer than its patience lasts, is cut off. */
  readonly minimumBytesPerSecond: number;
  /** Milliseconds without a byte that a client is given at first; it can earn a few times as much. */
  readonly drainWindowMs: number;
  /** Seconds after which a client may try again while a release is not distributable. */
  readonly retryAfterSeconds: number;
}

/** The bounds unless configured otherwise. */
export const DEFAULT_CDN_LIMITS: CdnLimits = {
  openDescriptors: 1024,
  blockCacheBytes: 256 * MEBIBYTE,
  inFlightBytes: 64 * MEBIBYTE,
  verifiedObjects: 65_536,
  minimumBytesPerSecond: 1024,
  drainWindowMs: 30_000,
  retryAfterSeconds: 10,
};
