import { crc32 } from 'node:zlib';
import { decryptZipCrypto, ENCRYPTION_HEADER } from '../../src/formats/zip/zip-crypto.ts';
import type { ZipInput } from './write-zip.ts';

const ANY_BYTE = Array.from({ length: 256 }, (_, byte) => byte);

/**
 * A stored entry with the encryption of PKWARE. The cipher is a stream, so decrypting a zero behind the bytes that are
 * encrypted so far gives the next byte of the key. It takes quadratic time: for short contents only.
 */
export function encryptZipEntry(name: string, content: Buffer, password: Uint8Array): ZipInput {
  const checksum = crc32(content);
  const header = Buffer.alloc(ENCRYPTION_HEADER);
  while (decryptZipCrypto(header, password, [checksum >>> 24]) === null) {
    header[ENCRYPTION_HEADER - 1] = (header[ENCRYPTION_HEADER - 1] ?? 0) + 1;
  }
  const data = Buffer.alloc(ENCRYPTION_HEADER + content.length);
  header.copy(data);
  for (const [index, byte] of content.entries()) {
    const at = ENCRYPTION_HEADER + index;
    const key = decryptZipCrypto(data.subarray(0, at + 1), password, ANY_BYTE)?.[index] ?? 0;
    data[at] = byte ^ key;
  }
  return { name, content, data, method: 0, flags: 0x08_01 };
}
