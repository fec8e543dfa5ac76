import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  utimesSync,
} from 'node:fs';
import { join } from 'node:path';
import { attestationPath } from '../../../src/snapshot/volume/layout.ts';
import { flipBit } from '../flip-bit.ts';
import type { Site } from './site.ts';

/** Gives the disk of a site a file system of its own, where that is allowed: only then can it be full. */
export function mountDisk({ disk }: Site): void {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=128m', 'slipway-simulation', disk], {
      stdio: 'ignore',
    });
  } catch {
    // Without the right to mount, no disk becomes full.
  }
}

export function unmountDisk(site: Site): void {
  if (isMounted(site)) execFileSync('umount', ['-l', site.disk]);
}

/** Uses up the disk of a site. */
export function fillDisk(site: Site): void {
  if (!isMounted(site) || existsSync(fillerOf(site))) return;
  const { bavail, bsize } = statfsSync(site.disk);
  execFileSync('fallocate', ['-l', String(bavail * bsize), fillerOf(site)]);
}

/** Keeps a copy of the store of a site. */
export function copyStore(site: Site): void {
  rmSync(copyOf(site), { recursive: true, force: true });
  copyFolder(site.volume, copyOf(site));
}

/** Gives the store of a site the content of its copy, if there is one. Nothing may run there. */
export function restoreStore(site: Site): void {
  if (!existsSync(copyOf(site)) || existsSync(awayOf(site)) || existsSync(fillerOf(site))) return;
  rmSync(site.volume, { recursive: true });
  copyFolder(copyOf(site), site.volume);
}

/** Puts another store in place of that of a site, as a wrong mount does: an older copy of it, or a copy of that of another site. */
export function mountOther(site: Site, other: Site): void {
  const from = site === other ? copyOf(site) : other.volume;
  if (existsSync(awayOf(site)) || existsSync(fillerOf(site)) || !existsSync(from)) return;
  renameSync(site.volume, awayOf(site));
  copyFolder(from, site.volume);
  // The other site can have a store of this one itself.
  if (site !== other && !existsSync(awayOf(other)) && existsSync(attestationOf(site)))
    copyFileSync(attestationOf(site), foreignOf(site));
}

/**
 * Ends what {@link fillDisk} and {@link mountOther} did.
 *
 * @returns whether the store was exchanged
 * @throws Error when the daemon has attested something in the store of another site
 */
export function healDisk(site: Site): boolean {
  rmSync(fillerOf(site), { force: true });
  if (!existsSync(awayOf(site))) return false;
  if (existsSync(foreignOf(site))) {
    const isSame = readFileSync(attestationOf(site)).equals(readFileSync(foreignOf(site)));
    if (!isSame) throw new Error(`${site.folder}: the daemon has written to the store of another one`);
    rmSync(foreignOf(site));
  }
  rmSync(site.volume, { recursive: true });
  renameSync(awayOf(site), site.volume);
  return true;
}

/** The objects and manifests of a store, in the order of their names. */
export function contentFiles({ volume }: Site): string[] {
  return ['objects', 'manifests']
    .map((name) => join(volume, name))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/** Changes one bit of a file, which keeps its times, as a disk does that loses it. */
export async function rot(file: string, place: number, bit: number): Promise<void> {
  const { size, atime, mtime } = statSync(file);
  if (size === 0) return;
  await flipBit(file, place % size, bit % 8);
  utimesSync(file, atime, mtime);
  chmodSync(file, 0o444);
}

function copyFolder(from: string, to: string): void {
  cpSync(from, to, { recursive: true, preserveTimestamps: true });
}

function isMounted({ disk }: Site): boolean {
  return readFileSync('/proc/self/mounts', 'utf8').includes(` ${disk} `);
}

function fillerOf({ disk }: Site): string {
  return join(disk, 'filler');
}

function copyOf({ folder }: Site): string {
  return `${folder}.copy`;
}

function awayOf({ volume }: Site): string {
  return `${volume}.away`;
}

function attestationOf({ volume }: Site): string {
  return attestationPath(volume);
}

/** The attestation that was in the store of another site when it was mounted. */
function foreignOf({ folder }: Site): string {
  return `${folder}.foreign`;
}
