import type { Blake3Hex } from '../../domain/release/digest.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import { messageOf } from '../../platform/errors.ts';

/**
 * Why an object cannot be read. `digest_mismatch` is only found for block lists here; `exhausted` (no descriptors or memory left) says nothing of the object; `unreadable` is
 * the device or the permissions.
 */
export type ObjectFaultKind =
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

function faultKindOf(code: string | null): ObjectFaultKind {
  switch (code) {
    case 'ENOENT':
      return 'missing';
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
      return 'exhausted';
    default:
      return 'unreadable';
  }
}
