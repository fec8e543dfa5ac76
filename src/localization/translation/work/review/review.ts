import type { TargetAuthor } from '../../../../domain/translation/four-eyes.ts';
import type { Finding } from '../store/target-rows.ts';
import type { ReportedTask } from '../store/task-page.ts';
import type { GlossaryOverride, NamedUnits, UpdatedUnit } from '../store/task-update.ts';
import type { NamedSource } from '../update/update-units.ts';
import type { TargetsChanged } from '../../../text-events.ts';

/** The reviewer of targets, and the rule of the review. */
export interface ReviewBy {
  readonly reviewer: string;
  readonly reason: string | null;
  readonly tokenId: string | null;
  /** Whether a token must not accept its own targets. */
  readonly fourEyes: boolean;
}

/** A review of a translation task. */
export interface TaskReview extends ReviewBy, NamedUnits {
  readonly taskId: string;
  readonly decision: 'accept' | 'return';
  readonly override: GlossaryOverride | null;
  /** Only these units; empty for all units of the task. */
  readonly results: readonly (NamedSource & { readonly text: string })[];
}

/** A row of a file whose unit is known. */
export interface ReviewLine {
  readonly line: number;
  readonly unitId: Uint8Array;
  readonly sourceDigest: Uint8Array;
  readonly sourceText: string;
  readonly text: string;
  /** That the target had when the file was written; `null` when the file has none. */
  readonly revision: number | null;
  /** Whether a spreadsheet may have changed the line ends. */
  readonly isOfTable: boolean;
}

/** The outcome of a row of a file. */
export type StagedLine =
  | 'staged'
  /** Collected with the line ends of the stored texts. */
  | 'line_ends_changed'
  | 'unknown_unit'
  | 'source_mismatch'
  | 'duplicate_unit'
  | 'task_closed';

/** A review whose targets wait for their judgement. */
export interface BegunReview {
  readonly isRefused: false;
  readonly reviewId: string;
  readonly units: number;
}

/** A target of a review. */
export interface ReviewRow {
  /** Of the unit in its task. */
  readonly number: number;
  /** Of the unit in its file. */
  readonly ordinal: number;
  readonly unitId: Uint8Array;
  /** The index of the result in the body, or the line in the file. */
  readonly line: number;
  readonly sourceText: string;
  readonly text: string;
  /** The author of the stored target; `null` for a unit that has none. */
  readonly author: TargetAuthor | null;
}

/** Where the next page of a review begins. */
export interface ReviewPlace {
  readonly taskSeq: number;
  readonly number: number;
}

/** Targets of a review that belong to one task, in their order. */
export interface ReviewPage {
  readonly taskSeq: number;
  readonly taskId: string;
  readonly releaseId: string;
  /** Of the parse index. */
  readonly generation: number;
  readonly destination: string;
  readonly archiveEntry: string | null;
  /** Whether a reviewer accepted units of the container before. */
  readonly wasProofread: boolean;
  readonly rows: readonly ReviewRow[];
}

/** The judgement of a target of a review. */
export interface JudgedRow {
  readonly number: number;
  readonly findings: readonly Finding[];
  readonly qaIdentity: string;
}

/** A review that was made. */
export interface ReviewDone {
  readonly isRefused: false;
  readonly task: ReportedTask;
  /** The tasks that have the units now, where the named task is superseded. */
  readonly appliedTo: readonly string[];
  readonly written: number;
  /** Units that were reviewed in this way before. */
  readonly repeated: number;
  /** The first units of the review. */
  readonly units: readonly UpdatedUnit[];
  /** `null` for a trial. */
  readonly event: TargetsChanged | null;
}

/** Why a row of a file cannot be accepted. */
export interface RefusedLine {
  readonly line: number;
  readonly unitId: Uint8Array;
  readonly code: 'qa_blocked' | 'revision_changed' | 'four_eyes_required' | 'lease_held';
  readonly message: string;
}

/** The outcome of the units of one container of a file. */
export interface ImportedContainer {
  readonly taskId: string;
  readonly destination: string;
  readonly archiveEntry: string | null;
  readonly written: number;
  readonly repeated: number;
  /** Units that refuse the whole container. */
  readonly refused: number;
}

/** Containers that have a row which cannot be used. */
export interface RefusedContainers {
  readonly units: readonly Uint8Array[];
  readonly places: readonly { readonly destination: string; readonly archiveEntry: string | null }[];
}

/** How the rows of a file are taken. */
export interface FileReviewBy extends ReviewBy {
  /** Whether the containers without a refused row are taken when others have one. */
  readonly isPartial: boolean;
  /** Whether rows were refused before they were collected. */
  readonly hasRefused: boolean;
}

/** The outcome of a file. */
export interface ImportDone {
  readonly isApplied: boolean;
  readonly containers: readonly ImportedContainer[];
  /** The tasks whose targets were accepted. */
  readonly acceptedTasks: readonly string[];
  readonly written: number;
  readonly repeated: number;
  /** Rows that nothing is wrong with, but that were not taken because of others. */
  readonly leftOut: number;
  /** The first refused rows. */
  readonly refusedLines: readonly RefusedLine[];
  readonly refusedCounts: Readonly<Partial<Record<RefusedLine['code'], number>>>;
  /** `null` when no target was stored. */
  readonly event: TargetsChanged | null;
}
