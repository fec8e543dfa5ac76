import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { onTestFinished } from 'vitest';
import type { AtEnd } from './shared-fixture.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** A file system of ext4 in a file, whose blocks a test can change under it. */
export interface DiskImage {
  /** Where it is mounted. */
  readonly directory: string;
  /**
   * Flips one bit of a file on the disk. The file system does not notice: inode, size and times stay, and so does a copy in the
   * page cache.
   */
  rot(path: string, position: number): void;
  /** Drops the pages of a file from the page cache, so that the next read comes from the disk. */
  evict(path: string): void;
}

const MARK_BYTES = 64;

/** Loop devices need root. Elsewhere the tests are skipped, and the reason is printed. */
export function canMountImages(): boolean {
  if (process.getuid?.() === 0 && existsSync('/dev/loop-control')) return true;
  if (process.env['CI'] === 'true') throw new Error('CI must be able to mount a loop device');
  console.warn('SKIPPED: a disk that rots needs root and loop devices');
  return false;
}

/** Makes and mounts an image of this size, by default until the running test ends. */
export async function mountImage(mebibytes: number, atEnd: AtEnd = onTestFinished): Promise<DiskImage> {
  const folder = await temporaryDirectory(atEnd);
  const directory = await temporaryDirectory(atEnd);
  const image = join(folder, 'disk.img');
  execFileSync('truncate', ['-s', `${mebibytes}M`, image]);
  execFileSync('mkfs.ext4', ['-q', '-F', image]);
  execFileSync('mount', ['-o', 'loop', image, directory]);
  atEnd(() => {
    execFileSync('umount', ['-l', directory]);
  });
  return {
    directory,
    rot: (path, position) => {
      execFileSync('sync', ['-f', directory]);
      const mark = Buffer.alloc(MARK_BYTES);
      const file = openSync(path, 'r');
      readSync(file, mark, 0, MARK_BYTES, position);
      closeSync(file);
      const disk = readFileSync(image);
      const at = disk.indexOf(mark);
      if (at === -1 || disk.indexOf(mark, at + 1) !== -1)
        throw new Error(`not exactly one copy of ${path} is on the disk`);
      const bytes = openSync(image, 'r+');
      writeSync(bytes, Buffer.from([disk[at]! ^ 1]), 0, 1, at);
      closeSync(bytes);
    },
    evict: (path) => {
      execFileSync('dd', [`if=${path}`, 'iflag=nocache', 'count=0', 'status=none']);
    },
  };
}
