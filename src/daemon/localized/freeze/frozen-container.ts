import type { Blake3Hex } from '../../../domain/release/digest.ts';

/** The edits of one container in a localized release, in a spool file. */
export interface FrozenContainer {
  readonly destination: string;
  /** The official object. */
  readonly official: { readonly blake3: Blake3Hex; readonly size: number };
  /**
   * JSONL, one {@link FrozenEdit} a line, in the order of the parse index. It lies below the work folder of the task and
   * is removed with it.
   */
  readonly editsPath: string;
  readonly edits: number;
  /** BLAKE3 over all that decides the bytes: patcher version, official BLAKE3, rules digest, edits in order. */
  readonly patchKey: Blake3Hex;
}

/** One text to replace, with its exact place in the official object. */
export interface FrozenEdit {
  readonly unitId: string;
  /** The way through archives, `!/` between levels; `null` outside of archives. */
  readonly archiveEntry: string | null;
  /** Unity object id, signed 64 bits, as decimal digits: JSON numbers cannot hold it. */
  readonly pathId: string | null;
  readonly fieldPath: string;
  /** The text that is there. */
  readonly source: string;
  /** The text that replaces it. */
  readonly target: string;
}
