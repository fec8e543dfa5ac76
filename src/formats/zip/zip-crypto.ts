/** Bytes before the data of an encrypted entry. */
export const ENCRYPTION_HEADER = 12;

const CRC_TABLE = Int32Array.from({ length: 256 }, (_, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? 0xed_b8_83_20 ^ (value >>> 1) : value >>> 1;
  return value;
});

/**
 * Decrypts an entry by the traditional encryption of PKWARE, "ZipCrypto" (APPNOTE 6.1).
 *
 * @param checks the values that the last byte of the header can have
 * @returns the data, or `null` when the header does not fit the password. One of 256 wrong passwords fits
 */
export function decryptZipCrypto(
  data: Buffer,
  password: Uint8Array,
  checks: readonly number[],
): Buffer | null {
  const keys = keysOf(password);
  const header = decrypt(data.subarray(0, ENCRYPTION_HEADER), keys);
  if (!checks.includes(header[ENCRYPTION_HEADER - 1] ?? -1)) return null;
  return decrypt(data.subarray(ENCRYPTION_HEADER), keys);
}

/**
 * Encrypts an entry by the traditional encryption of PKWARE.
 *
 * @param nonce the first 11 bytes of the header, which must differ where the data differ
 * @param check the last byte of the header
 */
export function encryptZipCrypto(
  data: Uint8Array,
  password: Uint8Array,
  nonce: Uint8Array,
  check: number,
): Buffer {
  const header = Buffer.from([...nonce.subarray(0, ENCRYPTION_HEADER - 1), check]);
  const keys = keysOf(password);
  const encrypted = Buffer.allocUnsafe(header.length + data.length);
  encrypt(header, keys, encrypted);
  encrypt(data, keys, encrypted.subarray(header.length));
  return encrypted;
}

function encrypt(plain: Uint8Array, keys: Int32Array, into: Buffer): void {
  for (let index = 0; index < plain.length; index += 1) {
    const byte = plain[index] ?? 0;
    into[index] = byte ^ keyByte(keys);
    advance(keys, byte);
  }
}

function keyByte(keys: Int32Array): number {
  const mask = ((keys[2] ?? 0) & 0xffff) | 2;
  return (Math.imul(mask, mask ^ 1) >>> 8) & 0xff;
}

function keysOf(password: Uint8Array): Int32Array {
  const keys = Int32Array.of(0x12_34_56_78, 0x23_45_67_89, 0x34_56_78_90);
  for (const byte of password) advance(keys, byte);
  return keys;
}

function advance(keys: Int32Array, byte: number): void {
  const [first, second] = [crcStep(keys[0] ?? 0, byte), keys[1] ?? 0];
  keys[0] = first;
  keys[1] = Math.imul(second + (first & 0xff), 134_775_813) + 1;
  keys[2] = crcStep(keys[2] ?? 0, (keys[1] ?? 0) >>> 24);
}

function crcStep(crc: number, byte: number): number {
  return (CRC_TABLE[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8);
}

function decrypt(data: Uint8Array, keys: Int32Array): Buffer {
  const plain = Buffer.allocUnsafe(data.length);
  for (let index = 0; index < data.length; index += 1) {
    const byte = (data[index] ?? 0) ^ keyByte(keys);
    plain[index] = byte;
    advance(keys, byte);
  }
  return plain;
}
