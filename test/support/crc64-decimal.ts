import type { Crc64Decimal } from '../../src/domain/release/digest.ts';
import { createCrc64 } from '../../src/platform/hashing/crc64.ts';

/** CRC-64/XZ of bytes in memory. */
export async function crc64Decimal(bytes: Uint8Array): Promise<Crc64Decimal> {
  const crc = await createCrc64();
  crc.update(bytes);
  return crc.digest();
}
