/** Why verified bytes cannot be had: they are `missing` or `damaged` on the volume, or this server is `overloaded`. */
export type ByteFaultKind = 'missing' | 'damaged' | 'overloaded';

/** Bytes of an entry cannot be read as the manifest says. */
export class ByteFault extends Error {
  readonly kind: ByteFaultKind;

  constructor(kind: ByteFaultKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ByteFault';
    this.kind = kind;
  }
}
