export interface FieldEdit {
  /** The path that the reader of the format reports for the text. */
  readonly fieldPath: string;
  readonly source: string;
  readonly target: string;
}

/** A field whose value is a file of its own, which is patched in its place. */
export interface NestedEdit {
  readonly fieldPath: string;
  /** Patches the file. @param value bytes where the format stores bytes, or a string that is not valid UTF-8 */
  readonly patch: (value: string | Uint8Array, fieldName: string) => string | Uint8Array;
}

/** One change of a value. */
export type ValueEdit = FieldEdit | NestedEdit;
