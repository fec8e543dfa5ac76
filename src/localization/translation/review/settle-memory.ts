import type { LanguagePair } from '../../../domain/glossary/term.ts';
import type { Logger } from '../../../platform/logging/logging.ts';
import type { TranslationMemory } from '../../memory/translation-memory.ts';
import { unitIdText } from '../../unit-id-text.ts';
import type { TaskResult } from '../../../engine/tasks/task.ts';
import { proposalsOf } from '../judge/offer-targets.ts';
import type { ReviewBy, ReviewPage } from '../work/review/review.ts';
import { offeredTargets, reviewPages, sourcesOf, type ReviewPorts } from './review-pages.ts';

/** The parts that bring a review to the Translation Memory. */
export interface MemoryPorts extends ReviewPorts {
  readonly memory: TranslationMemory;
  readonly languages: () => LanguagePair;
  readonly logger: Logger;
}

interface MadeReview {
  readonly reviewId: string;
  readonly decision: 'accept' | 'return';
  readonly by: ReviewBy;
  /** Whether the review of a task was made; default all of them. */
  readonly isMade?: (taskId: string) => boolean;
}

/** Records that a result names because they did not become what the review decided. */
const NAMED_RECORDS = 100;

interface Settled {
  confirmed: number;
  known: number;
  rejected: number;
  unsettled: number;
  readonly problems: TaskResult[];
}

/**
 * Makes the records of accepted targets trusted, and rejects the candidates of returned ones. A record that conflicts with another
 * trusted one stays as it is and is named.
 *
 * @returns the outcome for the result of the review; `unavailable` when the memory does not answer: the review counts in any case
 */
export async function settleMemory(
  ports: MemoryPorts,
  { reviewId, decision, by, isMade = () => true }: MadeReview,
  signal?: AbortSignal,
): Promise<TaskResult | 'unavailable'> {
  const settled: Settled = { confirmed: 0, known: 0, rejected: 0, unsettled: 0, problems: [] };
  try {
    for await (const page of reviewPages(ports.thread, reviewId, signal)) {
      if (!isMade(page.taskId)) continue;
      const proposals = await proposalsOfPage(ports, page, signal);
      await (decision === 'accept' ? confirmPage : rejectPage)(ports, page, proposals, by, settled);
    }
  } catch (error) {
    signal?.throwIfAborted();
    ports.logger.warn(
      { err: error, review_id: reviewId },
      'a review could not be stored in the Translation Memory',
    );
    return 'unavailable';
  }
  const { confirmed, known, rejected, unsettled, problems } = settled;
  return decision === 'accept'
    ? { confirmed, trusted_before: known, not_confirmed: unsettled, problems }
    : { rejected, not_rejected: unsettled, problems };
}

type Proposals = ReturnType<typeof proposalsOf>;

async function proposalsOfPage(
  { units, languages }: MemoryPorts,
  page: ReviewPage,
  signal?: AbortSignal,
): Promise<Proposals> {
  const sources = await sourcesOf(units, page, signal);
  return proposalsOf(offeredTargets(page, sources), 'proofread', page.releaseId, languages());
}

async function confirmPage(
  { memory }: MemoryPorts,
  { rows }: ReviewPage,
  proposals: Proposals,
  { reviewer, tokenId, reason }: ReviewBy,
  settled: Settled,
): Promise<void> {
  const outcomes = await memory.propose(proposals);
  const known = rows.flatMap(({ unitId }, at) => {
    const outcome = outcomes[at];
    if (outcome === undefined) throw new Error('the Translation Memory gave fewer outcomes than targets');
    if (outcome.outcome !== 'refused') return { unit_id: unitIdText(unitId), record_id: outcome.record_id };
    addProblem(settled, { unit_id: unitIdText(unitId), code: 'refused', message: outcome.reason });
    return [];
  });
  const requests = known.map(({ record_id }) => ({
    record_id,
    reviewer,
    tokenId,
    reason,
    supersede_record_id: null,
    force: false,
  }));
  for (const [at, confirmed] of (await memory.confirmAll(requests)).entries()) {
    if (!confirmed.ok) addProblem(settled, { ...known[at], ...confirmed.error });
    else if (confirmed.value.changed) settled.confirmed += 1;
    else settled.known += 1;
  }
}

async function rejectPage(
  { memory }: MemoryPorts,
  { rows }: ReviewPage,
  proposals: Proposals,
  { reviewer, tokenId, reason }: ReviewBy,
  settled: Settled,
): Promise<void> {
  const records = await memory.known(proposals);
  for (const [at, record] of records.entries()) {
    if (record === null || record.state === 'rejected') continue;
    const { record_id } = record;
    const rejected = await memory.reject({ record_id, reviewer, tokenId, reason });
    if (rejected.ok) settled.rejected += 1;
    else addProblem(settled, { unit_id: unitIdOf(rows, at), record_id, ...rejected.error });
  }
}

function unitIdOf(rows: ReviewPage['rows'], at: number): string | null {
  const row = rows[at];
  return row === undefined ? null : unitIdText(row.unitId);
}

function addProblem(settled: Settled, problem: TaskResult): void {
  settled.unsettled += 1;
  if (settled.problems.length < NAMED_RECORDS) settled.problems.push(problem);
}
