import {
  chmodSync,
  closeSync,
  cpSync,
  existsSync,
  openSync,
  readdirSync,
  readSync,
  statSync,
  utimesSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';

/** Every file below a folder, in the order of their names. */
export function filesBelow(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/** Changes one bit of a file, which keeps its times, as a disk does that loses it. */
export function flipBit(file: string, place: number, bit: number): void {
  const { size, atime, mtime } = statSync(file);
  if (size === 0) return;
  chmodSync(file, 0o644);
  const handle = openSync(file, 'r+');
  const byte = Buffer.alloc(1);
  readSync(handle, byte, 0, 1, place % size);
  byte[0] = (byte[0] ?? 0) ^ (1 << (bit % 8));
  writeSync(handle, byte, 0, 1, place % size);
  closeSync(handle);
  utimesSync(file, atime, mtime);
  chmodSync(file, 0o444);
}

/** Copies a folder, with the times of its files. */
export function copyFolder(from: string, to: string): void {
  cpSync(from, to, { recursive: true, preserveTimestamps: true });
}
