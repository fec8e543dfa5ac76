import { crc32 } from 'node:zlib';
import { writeZip } from './write-zip.ts';

/**
 * Writes an archive whose stored entries are encrypted by the traditional encryption of PKWARE (APPNOTE 6.1). The salt is
 * fixed, so the same files give the same bytes.
 */
export function encryptedZip(files: Readonly<Record<string, string>>, password: string): Buffer {
  return writeZip(
    Object.entries(files).map(([name, text]) => {
      const content = Buffer.from(text);
      const header = Buffer.alloc(12, 7);
      header[11] = crc32(content) >>> 24;
      const data = encrypt(Buffer.concat([header, content]), Buffer.from(password));
      return { name, content, data, method: 0, flags: 0x08_01, uncompressedSize: content.length };
    }),
  );
}

function encrypt(plain: Buffer, password: Buffer): Buffer {
  const keys = [0x12_34_56_78, 0x23_45_67_89, 0x34_56_78_90];
  const advance = (byte: number): void => {
    keys[0] = crcStep(keys[0] ?? 0, byte);
    keys[1] = (Math.imul(((keys[1] ?? 0) + (keys[0] & 0xff)) | 0, 134_775_813) + 1) | 0;
    keys[2] = crcStep(keys[2] ?? 0, keys[1] >>> 24);
  };
  password.forEach(advance);
  return plain.map((byte) => {
    const mask = ((keys[2] ?? 0) & 0xffff) | 2;
    const encrypted = byte ^ ((Math.imul(mask, mask ^ 1) >>> 8) & 0xff);
    advance(byte);
    return encrypted;
  }) as Buffer;
}

/** One step of CRC-32 without the inversions around it. */
function crcStep(crc: number, byte: number): number {
  return ~crc32(Buffer.of(byte), ~crc >>> 0);
}
