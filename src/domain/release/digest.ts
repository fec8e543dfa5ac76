export type Blake3Hex = string & { readonly __brand: 'Blake3Hex' };

/** CRC-64/XZ (ECMA-182, reflected) as an unsigned decimal string; it exceeds 2^53, so it is never a number. */
export type Crc64Decimal = string & { readonly __brand: 'Crc64Decimal' };

/** `blake3:<64 hex>`: names a snapshot by the digest of its manifest bytes. */
export type SnapshotId = `blake3:${string}` & { readonly __brand: 'SnapshotId' };

const BLAKE3_HEX = /^[0-9a-f]{64}$/;
const CRC64_DECIMAL = /^(?:0|[1-9][0-9]{0,19})$/;
const UINT64_MAX = 0xffff_ffff_ffff_ffffn;

/** Whether text is a well-formed BLAKE3 digest. */
export function isBlake3Hex(text: string): text is Blake3Hex {
  return BLAKE3_HEX.test(text);
}

/** Whether text is a canonical decimal unsigned 64-bit value. */
export function isCrc64Decimal(text: string): text is Crc64Decimal {
  return CRC64_DECIMAL.test(text) && BigInt(text) <= UINT64_MAX;
}

/** Names the snapshot whose manifest bytes have this digest. */
export function snapshotIdOf(manifestDigest: Blake3Hex): SnapshotId {
  return `blake3:${manifestDigest}` as SnapshotId;
}

/** The manifest digest a snapshot id names, or `null` if the text is not a snapshot id. */
export function manifestDigestOf(snapshotId: string): Blake3Hex | null {
  const hex = snapshotId.startsWith('blake3:') ? snapshotId.slice('blake3:'.length) : '';
  return isBlake3Hex(hex) ? hex : null;
}
