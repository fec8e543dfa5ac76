/** A line of a generated scene. */
export interface DialogRow {
  /** A signed integer of 64 bits. */
  readonly id: bigint;
  readonly speaker: string;
  readonly text: string;
}
