import type { Blake3Hex } from '../../domain/release/digest.ts';
import type { ObjectDamage } from '../../domain/verdict/damage-kind.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import { messageOf } from '../../platform/errors.ts';
import { FILE_CHANGED } from '../../platform/hashing/digests.ts';

/**
 * Why an object cannot be read. `digest_mismatch` is only found for block lists here; `exhausted` (no descriptors or memory left) says nothing of the object; `unreadable` is
 * the device or the permissions.
 */
type ObjectFaultKind =
  | 'missing'
  | 'not_regular'
  | 'size_mismatch'
  | 'digest_mismatch'
  | 'unreadable'
  | 'exhausted';

/** An object, or its block list, cannot be read as the manifest says. */
export class ObjectFault extends Error {
  readonly kind: ObjectFaultKind;
  readonly blake3: Blake3Hex;
  /** The code of the file system error behind it, where there is one. */
  readonly code: string | null;

  constructor(kind: ObjectFaultKind, blake3: Blake3Hex, message: string, code: string | null = null) {
    super(message);
    this.name = 'ObjectFault';
    this.kind = kind;
    this.blake3 = blake3;
    this.code = code;
  }
}

/**
 * Turns the failure to open or read a file of the store into a fault.
 *
 * @param what what could not be read, for the message: `object` or `block list`
 */
export function objectFaultOf(error: unknown, blake3: Blake3Hex, what: string): ObjectFault {
  const code = errorCode(error);
  const message = messageOf(error);
  return new ObjectFault(faultKindOf(code), blake3, `${what} ${blake3}: ${message}`, code);
}

/**
 * The damage that a failure to open, read or hash an object shows.
 *
 * @returns `null` when it says nothing of the object: a shortage of descriptors or memory, a closed hash pool, a crashed hash thread
 */
export function objectDamageOf(error: unknown): ObjectDamage | null {
  const kind = error instanceof ObjectFault ? error.kind : faultKindOf(errorCode(error));
  if (kind === 'exhausted') return null;
  return kind === 'not_regular' ? 'unreadable' : kind;
}

function faultKindOf(code: string | null): ObjectFaultKind {
  // Errors of Node itself, and bugs, say nothing of the file.
  if (code === null || code.startsWith('ERR_')) return 'exhausted';
  switch (code) {
    case 'ENOENT':
      return 'missing';
    case FILE_CHANGED:
      return 'size_mismatch';
    // O_NOFOLLOW on a symbolic link, a directory or socket in the object's place, a file where a directory should be.
    case 'ELOOP':
    case 'EMLINK':
    case 'EISDIR':
    case 'ENXIO':
    case 'ENODEV':
    case 'ENOTDIR':
      return 'not_regular';
    case 'EMFILE':
    case 'ENFILE':
    case 'ENOMEM':
    case 'EAGAIN':
      return 'exhausted';
    default:
      return 'unreadable';
  }
}
