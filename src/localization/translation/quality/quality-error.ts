/** A file, a setting or an argument of an evaluation cannot be used. The message says which, and what to do. */
export class QualityError extends Error {
  override readonly name = 'QualityError';
}
