import { crc32 } from 'node:zlib';
import { createBlake3 } from '../../platform/hashing/blake3.ts';
import type { Bundle } from './bundle.ts';

export interface BundleDigests {
  /**
   * CRC-32 of the decompressed files one behind the other, which catalogs of Addressables state as `m_Crc`; `null` where the
   * files do not fill the data of the bundle in their order, so that its meaning is not known.
   */
  readonly crc32: number | null;
  /** The first 16 bytes of BLAKE3 over the decompressed data, for a catalog that names the bundle by its content. */
  readonly contentHash: Uint8Array;
}

const CONTENT_HASH_BYTES = 16;
const PIECE_BYTES = 1024 * 1024;

/** The digests of a bundle as it is. @throws FormatError `block_decompress_failed` */
export function bundleDigests(bundle: Bundle): BundleDigests {
  const { data } = bundle;
  const hash = createBlake3();
  let crc = 0;
  for (let at = 0; at < data.size; at += PIECE_BYTES) {
    const bytes = data.read(at, Math.min(PIECE_BYTES, data.size - at));
    crc = crc32(bytes, crc);
    hash.update(bytes);
  }
  return {
    crc32: isFilled(bundle) ? crc : null,
    contentHash: hash.digest().subarray(0, CONTENT_HASH_BYTES),
  };
}

/** Whether the files stand in the data one behind the other, in the order of the directory. */
function isFilled({ nodes, data }: Bundle): boolean {
  let end = 0;
  for (const { offset, size } of nodes) {
    if (offset !== end) return false;
    end += size;
  }
  return end === data.size;
}
