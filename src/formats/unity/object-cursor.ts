import { FormatError, type FormatErrorCode } from '../format-error.ts';
import type { ReadLimits, ValueVisitor } from '../value-visitor.ts';

export type ObjectLimits = Pick<ReadLimits, 'stringBytes' | 'depth' | 'elements'>;

/** The position in an object while a compiled type tree runs over it. */
export class ObjectCursor {
  position = 0;
  readonly bytes: Buffer;
  readonly size: number;
  readonly visitor: ValueVisitor;
  readonly limits: ObjectLimits;

  constructor(bytes: Buffer, visitor: ValueVisitor, limits: ObjectLimits) {
    this.bytes = bytes;
    this.size = bytes.length;
    this.visitor = visitor;
    this.limits = limits;
  }

  take(length: number): number {
    const at = this.position;
    if (length > this.size - at) {
      throw this.fail('typetree_size_mismatch', `a value of ${length} bytes exceeds the object`);
    }
    this.position = at + length;
    return at;
  }

  align(): void {
    const rest = this.position & 3;
    if (rest > 0) this.take(4 - rest);
  }

  fail(code: FormatErrorCode, message: string, position = this.position): FormatError {
    return new FormatError(code, message, position);
  }
}
