import { chmod, open } from 'node:fs/promises';

/** Flips one bit of a file in place, as a failing disk does: a file that is written again is empty for a moment, which is other damage. */
export async function flipBit(path: string, position = 0, bit = 0): Promise<void> {
  await chmod(path, 0o644);
  const file = await open(path, 'r+');
  try {
    const byte = Buffer.alloc(1);
    await file.read(byte, 0, 1, position);
    byte[0]! ^= 1 << bit;
    await file.write(byte, 0, 1, position);
  } finally {
    await file.close();
  }
}
