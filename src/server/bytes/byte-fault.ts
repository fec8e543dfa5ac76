import { damageKindOf, type DamageKind } from '../../domain/verdict/damage-kind.ts';
import { ObjectFault, objectDamageOf } from '../../snapshot/objects/object-fault.ts';
import { messageOf } from '../../platform/errors.ts';

/** Why verified bytes are unavailable: `missing` or `damaged` on the volume, or this server is `overloaded`. */
type ByteFaultKind = DamageKind | 'overloaded';

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
  const damage = objectDamageOf(error);
  if (damage !== null) {
    const message =
      error instanceof ObjectFault ? error.message : `the bytes cannot be read: ${messageOf(error)}`;
    return new ByteFault(damageKindOf(damage), message, error);
  }
  const message =
    error instanceof ObjectFault
      ? 'no file descriptors or memory left to read the bytes'
      : `the bytes cannot be verified now: ${messageOf(error)}`;
  return new ByteFault('overloaded', message, error);
}
