import type { AcceptedFindings } from '../store/accepted-findings.ts';
import type { ProofreadContainers } from '../store/proofread-containers.ts';
import type { ReviewRows } from './review-rows.ts';
import type { WorkTools } from '../store/work-tools.ts';

/** The parts that reviews of tasks and of files share. */
export interface ReviewTools extends WorkTools {
  readonly rows: ReviewRows;
  readonly containers: ProofreadContainers;
  readonly accepted: AcceptedFindings;
}
