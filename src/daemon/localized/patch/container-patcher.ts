import type { ParseErrorCode } from '../../../contract/reports/parse-error-codes.ts';
import type { PatchErrorCode } from '../../formats/patch/patch-error.ts';

/** One container to patch. */
export interface PatchJob {
  readonly destination: string;
  /** The official object. */
  readonly path: string;
  /** JSONL, one frozen edit a line, in the order of the parse index. */
  readonly editsPath: string;
  /** Where the patched file is written; it does not exist yet. */
  readonly outputPath: string;
}

/** Patches containers, each in a child process, and checks each result there. */
export interface ContainerPatcher {
  /**
   * Patches one container and checks the result: every edited unit reads back exactly, everything else is unchanged.
   * After a failure nothing is at the output path.
   *
   * @throws the reason of the signal; an error with the code of errno when the output cannot be written
   */
  patch(job: PatchJob, signal: AbortSignal): Promise<PatchOutcome>;
  close(): void;
}

/** Why a container could not be patched. */
export type PatchFailureCode =
  | PatchErrorCode
  /** The container cannot be read, at least not as a whole. */
  | ParseErrorCode
  | 'patch_selfcheck_failed';

/** The result of patching one container. */
export type PatchOutcome =
  | {
      readonly kind: 'patched';
      /** Bytes of the patched file. */
      readonly size: number;
      /** Counts of the comparison with the official file. */
      readonly checked: {
        readonly editedUnits: number;
        readonly otherUnits: number;
        /** Objects, entries and rows without an edit. */
        readonly untouchedParts: number;
      };
    }
  | {
      readonly kind: 'failed';
      readonly code: PatchFailureCode;
      readonly message: string;
      readonly archiveEntry: string | null;
      readonly fieldPath: string | null;
    };
