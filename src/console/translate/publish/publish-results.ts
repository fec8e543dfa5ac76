/** The results of tasks that publish and roll back. The address can name a task of another kind, so every member may be missing. */

import type { Report } from '../../api/wire.ts';

export interface ChangedFile {
  readonly destination: string;
  readonly edited_units?: number;
  readonly units?: number;
  /** Bytes of the file, once it is built. */
  readonly size?: number;
}

export interface PublishResult {
  readonly unchanged?: boolean;
  readonly base_release_id?: string;
  readonly localized_release_id?: string;
  /** From 0 to 1. */
  readonly coverage?: number;
  readonly units?: Readonly<Record<string, number>>;
  readonly blockers?: ReadonlyArray<{
    readonly code: string;
    readonly message: string;
    readonly count: number;
  }>;
  readonly blocked_units?: ReadonlyArray<{
    readonly task_id: string;
    readonly unit_id: string;
    readonly destination: string;
    readonly source_text: string | null;
    readonly codes: readonly string[];
  }>;
  /** The localized release that was current during a dry run; `null` when there was none. */
  readonly compared_with?: string | null;
  /** Lines that readers of that release would see change; `null` when its texts are not known. */
  readonly changed_units?: number | null;
  readonly changes?: readonly TextChange[];
  readonly changed_files?: readonly ChangedFile[];
  readonly files?: readonly ChangedFile[];
  readonly replaced_entries?: number;
  readonly containers?: number;
}

/** The text of a unit that readers see; `null` when it is no longer known. */
export interface ReadText {
  readonly official: boolean;
  readonly text: string | null;
}

export interface TextChange {
  readonly unit_id: string;
  readonly destination: string;
  readonly source_text: string | null;
  readonly before: ReadText;
  readonly after: ReadText;
}

export interface RollbackResult {
  readonly rolled_back_release_id?: string;
  /** `null`: the channel is withdrawn. */
  readonly localized_release_id?: string | null;
  /** `null` when the texts of a release are not known. */
  readonly changed_units?: number | null;
  readonly changes?: readonly TextChange[];
  readonly files?: readonly ChangedFile[];
  /** Units that are put on hold; `null` when a dry run does not know. */
  readonly held_units?: number | null;
}

/** Whether a publication has to resume publishing after a rollback: one that stopped the automation, or withdrew the channel. */
export function mustResume({
  automation,
  publish_blockers: blockers,
}: Report<'translation.status'>): boolean {
  return automation.state === 'stopped' || blockers.some(({ code }) => code === 'release_rolled_back');
}

/**
 * Whether a publication does something after this dry run.
 *
 * @param resumes whether it also lets publishing go on after a rollback
 */
export function isWorthPublishing(tried: PublishResult, resumes: boolean): boolean {
  return (tried.blockers ?? []).length === 0 && (tried.unchanged !== true || resumes);
}
