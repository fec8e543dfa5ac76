import { ObjectFault } from '../../snapshot/objects/object-fault.ts';
import { messageOf } from '../../platform/errors.ts';
import { errorCode } from '../../platform/files/error-code.ts';

/** Why verified bytes are unavailable: `missing` or `damaged` on the volume, or this server is `overloaded`. */
export type ByteFaultKind = 'missing' | 'damaged' | 'overloaded';

/** The bytes of an entry cannot be read as the manifest describes them. */
export class ByteFault extends Error {
  readonly kind: ByteFaultKind;

  constructor(kind: ByteFaultKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ByteFault';
    this.kind = kind;
  }
}

/**
 * Turns the failure to open or read an object into a fault of its bytes. A lack of descriptors or memory says nothing
 * about the bytes; nor does an error from outside the file system, such as that of a hash pool being closed.
 */
export function byteFaultOf(error: unknown): ByteFault {
  if (error instanceof ByteFault) return error;
  if (error instanceof ObjectFault) {
    if (error.kind === 'exhausted') {
      return new ByteFault('overloaded', 'no file descriptors or memory left to read the bytes', error);
    }
    return new ByteFault(error.kind === 'digest_mismatch' ? 'damaged' : 'missing', error.message, error);
  }
  const code = errorCode(error);
  if (code !== null) {
    const isShortage = ['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN'].includes(code);
    return new ByteFault(
      isShortage ? 'overloaded' : 'damaged',
      `the bytes cannot be read: ${messageOf(error)}`,
      error,
    );
  }
  return new ByteFault('overloaded', `the bytes cannot be verified now: ${messageOf(error)}`, error);
}
