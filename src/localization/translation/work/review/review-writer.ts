import { isOwnWork, type TargetAuthor } from '../../../../domain/translation/four-eyes.ts';
import { unitIdText } from '../../../unit-id-text.ts';
import { blockingFindings } from '../store/accepted-findings.ts';
import { evaluationFindings } from '../store/new-judgement.ts';
import { entriesOf } from '../store/target-history.ts';
import {
  NO_PROVENANCE,
  sameBytes,
  type JudgedBy,
  type Provenance,
  type Row,
  type StoredTarget,
} from '../store/target-rows.ts';
import { getTarget, putTarget } from '../store/target-store.ts';
import type { Work } from '../store/work.ts';
import { checkClaim } from '../update/update-rules.ts';
import type { RefusedLine, ReviewBy } from './review.ts';
import type { StagedRow } from './review-rows.ts';

/** Why a collected target cannot be accepted or returned now; `null` when it can. */
export function rowRefusal(
  work: Work,
  row: StagedRow,
  by: ReviewBy,
  decision: 'accept' | 'return',
): RefusedLine | null {
  const before = getTarget(work, row.unitId);
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
  const claimed = checkClaim(work, row.unitId, [by.reviewer, by.tokenId], 'wait, or ask them to finish');
  if (claimed !== null) return refused('lease_held', `: ${claimed.detail}`);
  if (decision === 'return') return null;
  const blocking = blockingFindings(work, row);
  if (blocking.length > 0) {
    const found = blocking.map(({ check, message }) => `${check}: ${message}`).join('; ');
    return refused('qa_blocked', `${row.qaIdentity === null ? '' : ` (${row.qaIdentity})`}: ${found}`);
  }
  // A text that is new, or was made for another source, is the reviewer's own.
  const author = isSameTarget(before, row)
    ? { kind: before.authorKind, tokenId: before.tokenId }
    : { kind: 'person' as const, tokenId: by.tokenId };
  if (by.fourEyes && isOwnWork(author, by.tokenId)) {
    return refused('four_eyes_required', ownWorkMessage(author));
  }
  return null;
}

/**
 * Stores a target as accepted, and ends its hold; call it inside a transaction.
 *
 * @param authorKind the kind of the author of a text that the review brings along
 * @returns false when it was accepted before
 */
export function acceptRow(
  work: Work,
  task: Row,
  row: StagedRow,
  by: ReviewBy,
  authorKind: 'person' | 'import',
): boolean {
  work.sql('DELETE FROM hold WHERE unit_id = ? AND target_language = ?').run(row.unitId, work.targetLanguage);
  const before = getTarget(work, row.unitId);
  if (isAccepted(before, row)) return false;
  const origin = isSameTarget(before, row) ? before : null;
  putTarget(
    work,
    {
      unitId: row.unitId,
      text: row.text,
      state: 'proofread',
      stateBefore: null,
      sourceText: row.sourceText,
      sourceDigest: row.sourceDigest,
      authorKind: origin?.authorKind ?? authorKind,
      tokenId: origin === null ? by.tokenId : origin.tokenId,
      provider: origin?.provider ?? null,
      providerRunId: origin?.providerRunId ?? null,
      findings: [...row.findings, ...(origin === null ? [] : evaluationFindings(origin.findings))],
      qaIdentity: row.qaIdentity,
      propagatedFrom: origin?.propagatedFrom ?? null,
      updatedAt: work.now(),
    },
    provenanceOf(task, by, row.judgedBy),
  );
  return true;
}

/** Takes back the acceptance of a target, so that it is worked on again. @returns false when it was returned before */
export function returnRow(work: Work, task: Row, row: StagedRow, by: ReviewBy): boolean {
  const before = getTarget(work, row.unitId);
  if (before === null || isReturned(work, before, by)) return false;
  const state = before.state === 'proofread' || before.state === 'translated' ? 'draft' : before.state;
  // A target that is freed later also becomes a draft.
  const stateBefore =
    before.state === 'blocked' && before.stateBefore !== null ? 'draft' : before.stateBefore;
  // A returned repetition is a target of its own from now on: the reviewer's decision outlives a change of the other unit.
  const returned = { ...before, state, stateBefore, propagatedFrom: null, updatedAt: work.now() };
  putTarget(work, returned, provenanceOf(task, by, null));
  return true;
}

function ownWorkMessage({ kind }: TargetAuthor): string {
  return kind === 'memory'
    ? ' has a target from the Translation Memory that only the same token has written or confirmed'
    : ' has a target of the same token';
}

/** Whether the newest entry of a unit's history is the same return. */
function isReturned(
  work: Work,
  { unitId, state, revision }: StoredTarget,
  { reviewer, reason, tokenId }: ReviewBy,
): boolean {
  if (state === 'proofread' || state === 'translated') return false;
  const { value: entry } = entriesOf(work, unitId).next();
  if (entry === undefined || entry['revision'] !== revision) return false;
  return (
    entry['reviewer'] === reviewer && entry['reason'] === reason && entry['reviewer_token_id'] === tokenId
  );
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
