import type { Database } from '../../database/sqlite-database.ts';
import type { AcceptedFindings } from './accepted-findings.ts';
import type { ProofreadContainers } from './proofread-containers.ts';
import type { ReviewRows } from './review-rows.ts';
import type { TargetStore } from './target-store.ts';
import type { TaskCounts } from './task-counts.ts';

export interface ReviewerOptions {
  readonly database: Database;
  readonly targetLanguage: string;
  readonly targets: TargetStore;
  readonly counts: TaskCounts;
  /** Makes a ULID. */
  readonly createId: () => string;
}

/** The parts that reviews of tasks and of files share. */
export interface ReviewTools extends ReviewerOptions {
  readonly rows: ReviewRows;
  readonly containers: ProofreadContainers;
  readonly accepted: AcceptedFindings;
}
