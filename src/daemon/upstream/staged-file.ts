/** A file on its way into the staging directory: received, hashed through its descriptor, then kept or thrown away. */
export interface StagedFile {
  /** Bytes received so far. */
  readonly length: number;
  /** The validator under which they were received; `null` when no range may be asked for. */
  readonly validator: string | null;
  /** Notes under which validator the bytes that follow are received, and how many the file will have. */
  begin(validator: string | null, expectedBytes: number | null): Promise<void>;
  /** Takes the bytes that follow. */
  append(chunks: readonly Uint8Array[]): Promise<void>;
  /** Throws away what was received, to begin anew. */
  restart(): Promise<void>;
  /** Everything was received: the descriptor to hash, valid until one of the calls below. */
  seal(): Promise<number>;
  /** Closes the file under its staged name. */
  finish(): Promise<void>;
  /** Closes the file and leaves what a later call can go on with. */
  keep(): Promise<void>;
  /** Closes the file and deletes everything. */
  discard(): Promise<void>;
}
