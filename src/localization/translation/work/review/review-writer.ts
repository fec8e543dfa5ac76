import { isOwnWork, type TargetAuthor } from '../../../../domain/translation/four-eyes.ts';
import type { Database } from '../../../../engine/database/sqlite-database.ts';
import { unitIdText } from '../../../unit-id-text.ts';
import {
  NO_PROVENANCE,
  sameBytes,
  type JudgedBy,
  type Provenance,
  type Row,
  type StoredTarget,
} from '../store/target-rows.ts';
import type { RefusedLine, ReviewBy } from './review.ts';
import type { StagedRow } from './review-rows.ts';
import { createTargetHistory } from '../store/target-history.ts';
import { evaluationFindings } from '../store/new-judgement.ts';
import type { ReviewTools } from './review-tools.ts';
import { createClaimRule } from '../update/update-rules.ts';

/** Decides about the collected targets of a review, and writes them; call it inside a transaction. */
export interface ReviewWriter {
  /** Why a row cannot be accepted or returned now; `null` when it can. */
  refusalOf(row: StagedRow, by: ReviewBy, decision: 'accept' | 'return'): RefusedLine | null;
  /** Stores a target as accepted, and ends its hold. @returns false when it was accepted before */
  accept(task: Row, row: StagedRow, by: ReviewBy): boolean;
  /** Takes back the acceptance of a target, so that it is worked on again. @returns false when it was returned before */
  giveBack(task: Row, row: StagedRow, by: ReviewBy): boolean;
}

/** Creates the decisions of one target language. @param authorKind the kind of the author of a text that the review brings along */
export function createReviewWriter(tools: ReviewTools, authorKind: 'person' | 'import'): ReviewWriter {
  const { database, targetLanguage, targets, accepted, now } = tools;
  const checkClaim = createClaimRule(tools, 'wait, or ask them to finish');
  const liftHold = database.prepare('DELETE FROM hold WHERE unit_id = ? AND target_language = ?');
  const isReturned = createReturnedQuery(database, targetLanguage);
  return {
    refusalOf: (row, by, decision) => {
      const before = targets.get(row.unitId);
      const refused = (code: RefusedLine['code'], message: string): RefusedLine => ({
        line: row.line,
        unitId: row.requestedId,
        code,
        message: `${unitIdText(row.requestedId)}${message}`,
      });
      if (decision === 'accept' && isAccepted(before, row)) return null;
      if ((before?.revision ?? 0) !== row.revision) {
        return refused('revision_changed', ' was changed by someone else meanwhile');
      }
      // Without a judgement nobody knows what blocks the target.
      if (decision === 'accept' && row.judgedBy === null) {
        return refused('revision_changed', ' was not judged, because a newer release has replaced its task');
      }
      const claimed = checkClaim(row.unitId, by.reviewer);
      if (claimed !== null) return refused('lease_held', `: ${claimed.detail}`);
      if (decision === 'return') return null;
      const blocking = accepted.blocking(row);
      if (blocking.length > 0) {
        const found = blocking.map(({ check, message }) => `${check}: ${message}`).join('; ');
        return refused('qa_blocked', `${row.qaIdentity === null ? '' : ` (${row.qaIdentity})`}: ${found}`);
      }
      const author = authorOf(before, row, by, authorKind);
      if (by.fourEyes && isOwnWork(author, by.tokenId)) {
        return refused('four_eyes_required', ownWorkMessage(author));
      }
      return null;
    },
    accept: (task, row, by) => {
      liftHold.run(row.unitId, targetLanguage);
      const before = targets.get(row.unitId);
      if (isAccepted(before, row)) return false;
      const author = authorOf(before, row, by, authorKind);
      const origin = isSameTarget(before, row) ? before : null;
      targets.put(
        {
          unitId: row.unitId,
          text: row.text,
          state: 'proofread',
          stateBefore: null,
          sourceText: row.sourceText,
          sourceDigest: row.sourceDigest,
          authorKind: author.kind,
          tokenId: author.tokenId,
          provider: origin?.provider ?? null,
          providerRunId: origin?.providerRunId ?? null,
          findings: [...row.findings, ...(origin === null ? [] : evaluationFindings(origin))],
          qaIdentity: row.qaIdentity,
          propagatedFrom: origin?.propagatedFrom ?? null,
          updatedAt: now(),
        },
        provenanceOf(task, by, row.judgedBy),
      );
      return true;
    },
    giveBack: (task, row, by) => {
      const before = targets.get(row.unitId);
      if (before === null || isReturned(before, by)) return false;
      const state = before.state === 'proofread' || before.state === 'translated' ? 'draft' : before.state;
      // A target that is freed later is a draft, too.
      const stateBefore =
        before.state === 'blocked' && before.stateBefore !== null ? 'draft' : before.stateBefore;
      // A returned repetition is a target of its own from now on: the reviewer's decision outlives a change of the other unit.
      const returned = { ...before, state, stateBefore, propagatedFrom: null, updatedAt: now() };
      targets.put(returned, provenanceOf(task, by, null));
      return true;
    },
  };
}

function ownWorkMessage({ kind }: TargetAuthor): string {
  return kind === 'memory'
    ? ' has a target from the Translation Memory that only the same token has written or confirmed'
    : ' has a target of the same token';
}

/** Whether the newest entry of a unit's history is the same return. */
function createReturnedQuery(
  database: Database,
  targetLanguage: string,
): (target: StoredTarget, by: ReviewBy) => boolean {
  const history = createTargetHistory(database, targetLanguage);
  return ({ unitId, state, revision }, { reviewer, reason, tokenId }) => {
    if (state === 'proofread' || state === 'translated') return false;
    const { value: entry } = history.entriesOf(unitId).next();
    if (entry === undefined || entry['revision'] !== revision) return false;
    return (
      entry['reviewer'] === reviewer && entry['reason'] === reason && entry['reviewer_token_id'] === tokenId
    );
  };
}

function isSameTarget(
  before: StoredTarget | null,
  { text, sourceDigest }: StagedRow,
): before is StoredTarget {
  return before !== null && before.text === text && sameBytes(before.sourceDigest, sourceDigest);
}

function isAccepted(before: StoredTarget | null, row: StagedRow): boolean {
  return isSameTarget(before, row) && before.state === 'proofread';
}

/** The author of a target: the reviewer where the text is new, or was made for another source. */
function authorOf(
  before: StoredTarget | null,
  row: StagedRow,
  { tokenId }: ReviewBy,
  kind: 'person' | 'import',
): TargetAuthor {
  if (isSameTarget(before, row)) return { kind: before.authorKind, tokenId: before.tokenId };
  return { kind, tokenId };
}

function provenanceOf(task: Row, by: ReviewBy, judgedBy: JudgedBy | null): Provenance {
  return {
    ...NO_PROVENANCE,
    reviewer: by.reviewer,
    reviewerTokenId: by.tokenId,
    reason: by.reason,
    judgedBy,
    taskId: String(task['task_id']),
    releaseId: String(task['release_id']),
  };
}
