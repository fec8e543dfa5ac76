import { freedState } from '../../../../domain/translation/requalify.ts';
import { isUsable, type UnitState, type UsableState } from '../../../../domain/translation/unit-state.ts';
import type { ReadSnapshot } from '../../../../engine/database/sqlite-database.ts';
import {
  createAcceptedFindings,
  type AcceptedFindings,
  type JudgedTarget,
} from '../store/accepted-findings.ts';
import { stagedRowOf } from '../review/review-rows.ts';
import { createPublishedBefore, type PublishableUnit, type PublishedBefore } from './published-before.ts';
import { sameBytes, targetOf, type Row, type StoredTarget } from '../store/target-rows.ts';

/** Asks for the targets of units of a release, as the parse index shows them, that a localized release could have. */
export interface PublishableQuery {
  readonly releaseId: string;
  /** Of the parse index. */
  readonly generation: number;
  /** The targets that this review has collected from a file; `null`: the stored ones. */
  readonly reviewId: string | null;
  /** Each answer says whether this localized release has a text for the unit; `null`: none does. */
  readonly previous: PublishedBefore | null;
  readonly units: readonly PublishableUnit[];
}

/** The target of a unit for a localized release. */
export interface PublishableTarget {
  readonly taskId: string;
  /** `blocked` only while a finding blocks the target that nobody has accepted. */
  readonly state: UnitState;
  /** The state of the target without findings; missing without a target. */
  readonly freeState?: UsableState;
  /** For the source of the release; `null` without one. */
  readonly text: string | null;
  /** Whether someone has put the unit on hold. */
  readonly isHeld: boolean;
  readonly isSkipped: boolean;
  /** Whether the previous localized release has a text for the unit with the same source. */
  readonly wasPublished: boolean;
  readonly blockedBy: readonly string[];
  readonly qaIdentity: string | null;
}

/** Reads targets for a localized release; `null` when the tasks are not those of the release and the generation. */
export type PublishableReader = (query: PublishableQuery) => readonly PublishableTarget[] | null;

/** Creates the reader of one target language. */
export function createPublishableReader(
  database: Pick<ReadSnapshot, 'prepare'>,
  targetLanguage: string,
): PublishableReader {
  const build = database.prepare(`SELECT build_id FROM build
    WHERE target_language = ? AND state = 'current' AND release_id = ? AND generation = ?`);
  const place = database.prepare(`SELECT task_unit.task_seq, number, task_id, stored_status, EXISTS
    (SELECT 1 FROM hold WHERE hold.unit_id = task_unit.unit_id AND hold.target_language = :language) AS is_held
    FROM task_unit JOIN task USING (task_seq) WHERE unit_id = :unit_id AND build_id = :build_id`);
  const staged = database.prepare(
    'SELECT * FROM review_row WHERE review_id = ? AND task_seq = ? AND number = ?',
  );
  const stored = database.prepare('SELECT * FROM target WHERE unit_id = ? AND target_language = ?');
  const targetFor = (unitId: Uint8Array): StoredTarget | null => {
    const row = stored.get(unitId, targetLanguage);
    return row === undefined ? null : targetOf(row);
  };
  const accepted = createAcceptedFindings(database, targetLanguage);
  const publishedBefore = createPublishedBefore(database, targetLanguage);
  return ({ releaseId, generation, reviewId, previous, units }) => {
    const found = build.get(targetLanguage, releaseId, generation);
    if (found === undefined) return null;
    const buildId = Number(found['build_id']);
    const wasPublished = publishedBefore(previous, buildId);
    const answers: PublishableTarget[] = [];
    for (const unit of units) {
      const { unitId, sourceDigest } = unit;
      const at = place.get({ language: targetLanguage, unit_id: unitId, build_id: buildId });
      if (at === undefined) return null;
      const target =
        reviewId === null
          ? storedTarget(targetFor(unitId), sourceDigest, accepted)
          : stagedTarget(staged.get(reviewId, Number(at['task_seq']), Number(at['number'])), accepted);
      answers.push({
        taskId: String(at['task_id']),
        isHeld: at['is_held'] === 1,
        isSkipped: at['stored_status'] === 'skipped',
        wasPublished: wasPublished(unit),
        ...target,
      });
    }
    return answers;
  };
}

type TargetFields = Pick<PublishableTarget, 'state' | 'freeState' | 'text' | 'blockedBy' | 'qaIdentity'>;

const WITHOUT: TargetFields = { state: 'untranslated', text: null, blockedBy: [], qaIdentity: null };

function storedTarget(
  target: StoredTarget | null,
  sourceDigest: Uint8Array,
  accepted: Pick<AcceptedFindings, 'blocking'>,
): TargetFields {
  if (target === null) return WITHOUT;
  if (target.state === 'stale' || !sameBytes(target.sourceDigest, sourceDigest)) {
    return { ...WITHOUT, state: 'stale' };
  }
  // A decision about another unit may have accepted the findings that blocked it.
  return judgedTarget(
    target,
    isUsable(target.state) ? target.state : freedState(target.stateBefore, 'draft'),
    accepted,
  );
}

/** The target of a file. The person who publishes a file has accepted its texts. */
function stagedTarget(row: Row | undefined, accepted: Pick<AcceptedFindings, 'blocking'>): TargetFields {
  if (row === undefined) return WITHOUT;
  const target = stagedRowOf(row);
  if (target.judgedBy === null)
    return { ...judgedTarget(target, 'proofread', accepted), state: 'blocked', blockedBy: ['not_judged'] };
  return judgedTarget(target, 'proofread', accepted);
}

function judgedTarget(
  target: JudgedTarget,
  freeState: UsableState,
  accepted: Pick<AcceptedFindings, 'blocking'>,
): TargetFields {
  const { text, qaIdentity } = target;
  const blockedBy = [...new Set(accepted.blocking(target).map(({ check }) => check))];
  return { state: blockedBy.length > 0 ? 'blocked' : freeState, freeState, text, blockedBy, qaIdentity };
}
