import type { PartLocation } from '../container/parsed-container.ts';
import type { PARSE_STATUSES } from '../../../contract/schemas/vocabulary.ts';
import type { ParseErrorSeverity } from '../../../contract/reports/parse-error-codes.ts';

export interface IndexedFile {
  readonly destination: string;
  /**
   * The destination with its hash-like parts replaced; the exact destination where two files of the release would have the
   * same one.
   */
  readonly destinationKey: string;
  readonly blake3: Uint8Array;
  /**
   * Digest of all that decides which units these bytes give, beside the parser: the rules that apply to this file. Files with
   * equal bytes and an equal digest share their units.
   */
  readonly rulesDigest: Uint8Array;
  readonly ambiguity: string | null;
}

export interface ReleaseFiles {
  readonly releaseId: string;
  readonly parserVersion: string;
  readonly rulesDigest: Uint8Array;
  /** In the order of `compareDestinations`, each with another key. Read once, so a large release needs no list. */
  readonly files: Iterable<IndexedFile>;
}

/** The files that have no content in the index yet, by their position in {@link ReleaseFiles.files} from 0 on. */
export interface MissingContents {
  readonly indexId: number;
  readonly toParse: readonly number[];
  /** Another file has the same bytes: to be copied after the files of `toParse`, or parsed when there is nothing to copy. */
  readonly toCopy: readonly number[];
}

export interface FoundError extends PartLocation {
  readonly fieldPath: string | null;
  readonly code: string;
  readonly message: string;
  readonly severity: ParseErrorSeverity;
  /** Unix seconds; not given for an error that was found just now. */
  readonly firstSeen?: number;
}

export interface ContentOutcome {
  readonly parseStatus: (typeof PARSE_STATUSES)[number];
  readonly format: string | null;
  readonly skipped: Readonly<Record<string, number>>;
  readonly seconds: number;
  readonly bytes: number;
  /** False after a failure that has nothing to do with the bytes: the next indexing parses them again. */
  readonly isReusable: boolean;
}
