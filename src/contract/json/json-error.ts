export type JsonErrorKind =
  | 'syntax'
  | 'too_large'
  | 'too_deep'
  | 'too_many_keys'
  | 'too_many_values'
  | 'duplicate_key'
  | 'forbidden_key'
  | 'number_out_of_range';

/** A JSON text that is refused, with one sentence for the caller. */
export class JsonError extends Error {
  readonly kind: JsonErrorKind;

  constructor(kind: JsonErrorKind, message: string) {
    super(message);
    this.name = 'JsonError';
    this.kind = kind;
  }
}
