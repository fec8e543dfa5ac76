/** One text to replace. */
export interface FieldEdit {
  /** The path that the reader of the format reports for the text. */
  readonly fieldPath: string;
  /** The text that is there. */
  readonly source: string;
  /** The text that replaces it. */
  readonly target: string;
}

/** A field whose value is a file of its own, which is patched in its place. */
export interface NestedEdit {
  /** The path of the field, without what follows its `#`. */
  readonly fieldPath: string;
  /**
   * Patches the file.
   *
   * @param value bytes where the format stores bytes, or a string that is not valid UTF-8
   * @param fieldName the name of the field; empty for an element of an array
   * @returns the new file in the same form
   */
  readonly patch: (value: string | Uint8Array, fieldName: string) => string | Uint8Array;
}

/** One change of a value. */
export type ValueEdit = FieldEdit | NestedEdit;
