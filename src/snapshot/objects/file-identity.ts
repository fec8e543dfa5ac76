import { fstat, type BigIntStats } from 'node:fs';
import { promisify } from 'node:util';

/** Shows whether a path still names the same bytes: any write, replacement or truncation changes one of these. */
export interface FileIdentity {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
}

const fstatAsync = promisify(fstat);

/** The identity of the file behind an open descriptor. Rejects with the file system error. */
export async function fileIdentity(fd: number): Promise<FileIdentity> {
  return identityOf(await fstatAsync(fd, { bigint: true }));
}

export function identityOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): FileIdentity {
  return { dev, ino, size, mtimeNs, ctimeNs };
}

export function sameIdentity(left: FileIdentity, right: FileIdentity): boolean {
  return (
    left.ino === right.ino &&
    left.dev === right.dev &&
    left.size === right.size &&
    left.mtimeNs === right.mtimeNs &&
    left.ctimeNs === right.ctimeNs
  );
}
