const MEBIBYTE = 1024 * 1024;

/** The bounds of the byte path. */
export interface BytePathLimits {
  /** Maximum number of descriptors kept open for objects that are not being read. */
  readonly openDescriptors: number;
  /** Bytes for verified blocks kept in memory, including buffers kept for the next read. */
  readonly blockCacheBytes: number;
  /** Bytes read but not yet taken by the network, over all clients; near this limit, clients get small slices. */
  readonly inFlightBytes: number;
  /** A client that takes fewer bytes a second than this over a whole window is cut off. */
  readonly minimumBytesPerSecond: number;
  /** The window, milliseconds. */
  readonly drainWindowMs: number;
  /** Seconds after which a client may try again while a release is not distributable. */
  readonly retryAfterSeconds: number;
}

/** The default bounds. */
export const DEFAULT_BYTE_PATH_LIMITS: BytePathLimits = {
  openDescriptors: 1024,
  blockCacheBytes: 512 * MEBIBYTE,
  inFlightBytes: 64 * MEBIBYTE,
  minimumBytesPerSecond: 1024,
  drainWindowMs: 30_000,
  retryAfterSeconds: 10,
};
