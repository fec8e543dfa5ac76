import { failure, success, type Result } from '../result.ts';
import type { MemoryRecord, MemoryState } from './memory-record.ts';
import { normalText } from '../text/normal-text.ts';

/** Why a change of a record is refused. */
export interface MemoryRefusal {
  readonly code: 'unknown_record' | 'trusted_conflict' | 'invalid_transition' | 'conflict_group_changed';
  readonly message: string;
}

export interface Confirmation {
  readonly record: MemoryRecord;
  readonly rivals: readonly MemoryRecord[];
  /** The record that the reviewer replaces, or `null`. */
  readonly superseded: MemoryRecord | null;
  readonly force: boolean;
  readonly hasReason: boolean;
  /** Whether the reviewer has just written this target, whatever became of it before. */
  readonly isRewritten: boolean;
}

interface ConfirmationChange {
  /** `false` when the record is trusted already. */
  readonly changes: boolean;
  /** Whether two trusted records now say different things about the same text. */
  readonly opensConflict: boolean;
}

/** Judges the confirmation of a record: from any state, to `trusted`. */
export function judgeConfirmation(facts: Confirmation): Result<ConfirmationChange, MemoryRefusal> {
  const { record, rivals, superseded, force, hasReason, isRewritten } = facts;
  if (record.state === 'trusted') return success({ changes: false, opensConflict: false });
  const unfit = superseded === null ? null : whyNotSuperseded(superseded, record);
  if (unfit !== null) {
    return refuse(
      'trusted_conflict',
      `${unfit}; name a trusted record of the same text, or leave supersede_record_id out`,
    );
  }
  if (needsForce(record.state) && !isRewritten && !(force && hasReason)) {
    return refuse(
      'invalid_transition',
      `${record.record_id} is ${record.state}; send force and a reason to make it trusted again`,
    );
  }
  const others = rivals.filter(
    (rival) =>
      rival.record_id !== record.record_id &&
      rival.record_id !== superseded?.record_id &&
      normalText(rival.target_text) !== normalText(record.target_text),
  );
  if (others.length > 0 && !force) {
    const ids = others.map(({ record_id }) => record_id).join(', ');
    return refuse(
      'trusted_conflict',
      `other trusted records translate the same text differently: ${ids}; name the one to replace in supersede_record_id, or send force`,
    );
  }
  return success({ changes: true, opensConflict: others.length > 0 });
}

/**
 * Judges the rejection of a record: from `candidate` to `rejected`; `false` when it is rejected already.
 *
 * @param isNamed whether a reviewer has named this record, which may also be a trusted one
 */
export function judgeRejection(record: MemoryRecord, isNamed: boolean): Result<boolean, MemoryRefusal> {
  if (record.state === 'rejected') return success(false);
  if (record.state === 'candidate' || (isNamed && record.state === 'trusted')) return success(true);
  if (record.state === 'superseded')
    return refuse('invalid_transition', `${record.record_id} is superseded already, so it is not reused`);
  return refuse(
    'invalid_transition',
    `${record.record_id} is ${record.state}, and only a candidate can be rejected; confirm another record in its place`,
  );
}

/**
 * Judges the resolution of a conflict: the expected records must be exactly the trusted ones of their identity.
 *
 * @returns the ids of the records to supersede; none when this resolution was made before
 */
export function judgeResolution(facts: {
  readonly winnerId: string;
  readonly expectedIds: readonly string[];
  readonly expected: readonly MemoryRecord[];
  /** The trusted records of the winner's identity. */
  readonly trustedIds: readonly string[];
}): Result<readonly string[], MemoryRefusal> {
  const { winnerId, expectedIds, expected, trustedIds } = facts;
  const missing = expectedIds.filter((id) => !expected.some(({ record_id }) => record_id === id));
  if (missing.length > 0) return refuse('unknown_record', `there is no record ${missing.join(', ')}`);
  const losers = expectedIds.filter((id) => id !== winnerId);
  const winner = expected.find(({ record_id }) => record_id === winnerId);
  const isRepeated = expected.every(({ record_id, state, superseded_by }) =>
    record_id === winnerId ? state === 'trusted' : state === 'superseded' && superseded_by === winnerId,
  );
  if (isRepeated) return success([]);
  const isGroup =
    winner !== undefined &&
    expected.every(({ identity }) => identity === winner.identity) &&
    trustedIds.length === expectedIds.length &&
    expectedIds.every((id) => trustedIds.includes(id));
  if (isGroup) return success(losers);
  const now = trustedIds.length === 0 ? 'none' : trustedIds.join(', ');
  return refuse(
    'conflict_group_changed',
    `the trusted records of this group are now: ${now}; read the conflicts again`,
  );
}

function whyNotSuperseded(superseded: MemoryRecord, record: MemoryRecord): string | null {
  const { record_id: id, state } = superseded;
  if (id === record.record_id) return `${id} cannot supersede itself`;
  if (state !== 'trusted') return `${id} is ${state} and cannot be superseded`;
  const isSameText = (['source_text', 'source_language', 'target_language'] as const).every(
    (field) => superseded[field] === record[field],
  );
  return isSameText ? null : `${id} is the translation of another text`;
}

function needsForce(state: MemoryState): boolean {
  return state === 'superseded' || state === 'rejected';
}

function refuse(
  code: MemoryRefusal['code'],
  message: string,
): { readonly ok: false; readonly error: MemoryRefusal } {
  return failure({ code, message });
}
