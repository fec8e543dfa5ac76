import { freedState } from '../../../../domain/translation/requalify.ts';
import { isUsable, type UnitState, type UsableState } from '../../../../domain/translation/unit-state.ts';
import { stagedRowOf } from '../review/review-rows.ts';
import { blockingFindings, type JudgedTarget } from '../store/accepted-findings.ts';
import { currentBuild, type BuiltFor } from '../store/builds.ts';
import { sameBytes, type Row, type StoredTarget } from '../store/target-rows.ts';
import { getTarget } from '../store/target-store.ts';
import type { WorkReader } from '../store/work.ts';
import { findPublication, shortDigest } from './publications.ts';

/** A localized release with whose texts a new one is compared. */
export interface PublishedBefore {
  readonly localizedReleaseId: string;
  /** The official release from which the units of the parse index were carried over. */
  readonly carriedFrom: string | null;
}

/** Asks for what a localized release could have, of a release as the parse index shows it. */
interface PublicationQuery extends BuiltFor {
  /** The targets that this review has collected from a file; `null`: the stored ones. */
  readonly reviewId: string | null;
  /** The localized release with which the new one is compared; `null`: none. */
  readonly previous: PublishedBefore | null;
}

/** Asks for the targets of units. */
export interface PublishableQuery extends PublicationQuery {
  readonly units: readonly PublishableUnit[];
}

/** The place of a container in the order of the parse index, in which those of one file come together. */
export interface ContainerPlace {
  readonly destination: string;
  readonly taskSeq: number;
}

/** The place before the first container. */
export const FIRST_CONTAINER: ContainerPlace = { destination: '', taskSeq: 0 };

/** Asks for containers, in the order of the parse index. */
export interface PublishableContainersQuery extends PublicationQuery {
  /** Where the answer before ended. */
  readonly after: ContainerPlace;
}

/** A unit as the parse index shows it. */
interface PublishableUnit {
  readonly unitId: Uint8Array;
  readonly sourceDigest: Uint8Array;
  /** The id that the unit had with the same text in the release before; `null` for a new or changed text. */
  readonly unchangedFrom: Uint8Array | null;
}

/** The target of a unit for a localized release. */
export interface PublishableTarget extends TargetFields {
  readonly taskId: string;
  /** Whether someone has put the unit on hold. */
  readonly isHeld: boolean;
  readonly isSkipped: boolean;
  /** Whether the previous localized release has a text for the unit with the same source. */
  readonly wasPublished: boolean;
}

interface TargetFields {
  /** `blocked` only while a finding blocks the target that nobody has accepted. */
  readonly state: UnitState;
  /** The state of the target without findings; missing without a target. */
  readonly freeState?: UsableState;
  /** For the source of the release; `null` without one. */
  readonly text: string | null;
  readonly blockedBy: readonly string[];
  readonly qaIdentity: string | null;
}

const PLACE = `SELECT task_unit.task_seq, number, task_id, stored_status, EXISTS
  (SELECT 1 FROM hold WHERE hold.unit_id = task_unit.unit_id AND hold.target_language = :language) AS is_held
  FROM task_unit JOIN task USING (task_seq) WHERE unit_id = :unit_id AND build_id = :build_id`;
const STAGED = 'SELECT * FROM review_row WHERE review_id = ? AND task_seq = ? AND number = ?';

/** Reads targets; `null` when the tasks are not those of the release and the generation. */
export function publishableTargets(
  work: WorkReader,
  query: PublishableQuery,
): readonly PublishableTarget[] | null {
  const { reviewId } = query;
  const buildId = currentBuild(work, query);
  if (buildId === null) return null;
  const previous = previousPublication(work, query);
  const answers: PublishableTarget[] = [];
  for (const unit of query.units) {
    const { unitId, sourceDigest } = unit;
    const at = work.sql(PLACE).get({ language: work.targetLanguage, unit_id: unitId, build_id: buildId });
    if (at === undefined) return null;
    const target =
      reviewId === null
        ? storedTarget(work, getTarget(work, unitId), sourceDigest)
        : stagedTarget(work, work.sql(STAGED).get(reviewId, Number(at['task_seq']), Number(at['number'])));
    answers.push({
      taskId: String(at['task_id']),
      isHeld: at['is_held'] === 1,
      isSkipped: at['stored_status'] === 'skipped',
      wasPublished: previous !== null && wasPublished(work, previous, buildId, unit),
      ...target,
    });
  }
  return answers;
}

const WITHOUT: TargetFields = { state: 'untranslated', text: null, blockedBy: [], qaIdentity: null };

function storedTarget(work: WorkReader, target: StoredTarget | null, sourceDigest: Uint8Array): TargetFields {
  if (target === null) return WITHOUT;
  if (target.state === 'stale' || !sameBytes(target.sourceDigest, sourceDigest)) {
    return { ...WITHOUT, state: 'stale' };
  }
  // A decision about another unit may have accepted the findings that blocked it.
  const freeState = isUsable(target.state) ? target.state : freedState(target.stateBefore, 'draft');
  return judgedTarget(work, target, freeState);
}

/** The target of a file. The person who publishes a file has accepted its texts. */
function stagedTarget(work: WorkReader, row: Row | undefined): TargetFields {
  if (row === undefined) return WITHOUT;
  const target = stagedRowOf(row);
  const judged = judgedTarget(work, target, 'proofread');
  return target.judgedBy === null ? { ...judged, state: 'blocked', blockedBy: ['not_judged'] } : judged;
}

function judgedTarget(work: WorkReader, target: JudgedTarget, freeState: UsableState): TargetFields {
  const { text, qaIdentity } = target;
  const blockedBy = [...new Set(blockingFindings(work, target).map(({ check }) => check))];
  return { state: blockedBy.length > 0 ? 'blocked' : freeState, freeState, text, blockedBy, qaIdentity };
}

interface PreviousPublication {
  readonly id: number;
  /** Whether the units of the parse index were carried over from its base. */
  readonly isNext: boolean;
}

function previousPublication(work: WorkReader, { previous }: PublicationQuery): PreviousPublication | null {
  const record = previous === null ? null : findPublication(work, previous.localizedReleaseId);
  if (record === null) return null;
  return { id: record.publicationId, isNext: record.baseReleaseId === previous?.carriedFrom };
}

/** Texts of one source that are compared. */
const MOST_TEXTS = 1000;
const BY_UNIT = `SELECT 1 FROM published_text JOIN publication_container USING (patch_key)
  WHERE unit_id IN (:unit_id, :carried_id) AND publication_id = :publication AND source_digest = :source LIMIT 1`;
const BY_TEXT = `SELECT 1 FROM (SELECT unit_id FROM published_text AS text
    JOIN publication_container USING (patch_key)
    WHERE source_digest = :source AND publication_id = :publication LIMIT ${MOST_TEXTS}) AS text
  WHERE NOT EXISTS (SELECT 1 FROM task_unit JOIN task USING (task_seq)
    WHERE task_unit.unit_id = text.unit_id AND build_id = :build AND source_digest = :digest) LIMIT 1`;

/**
 * Whether a localized release has a unit with the same source. When official releases between both were not followed, the ids of
 * that release are not known for units that moved meanwhile; they are found by their source, among the texts whose units are gone or
 * have another source now.
 */
function wasPublished(
  work: WorkReader,
  { id, isNext }: PreviousPublication,
  build: number,
  { unitId, sourceDigest, unchangedFrom }: PublishableUnit,
): boolean {
  const source = shortDigest(sourceDigest);
  const unit = { unit_id: unitId, carried_id: unchangedFrom, publication: id, source };
  if (work.sql(BY_UNIT).get(unit) !== undefined) return true;
  if (isNext || unchangedFrom === null) return false;
  return work.sql(BY_TEXT).get({ source, publication: id, build, digest: sourceDigest }) !== undefined;
}

/** A file of a release, or an entry of an archive: those of one file come together. */
export interface PublishableContainer {
  readonly destination: string;
  readonly units: number;
  readonly isSkipped: boolean;
  /**
   * Whether a unit can have a target, be on hold, or be in the previous localized release. All units of a container without it are
   * untranslated. A skipped one is without it, because nothing else about its units counts.
   */
  readonly hasTexts: boolean;
}

/** Containers, and the place to continue after; `null` at the end. */
export interface PublishableContainers {
  readonly items: readonly PublishableContainer[];
  readonly next: ContainerPlace | null;
}

const PAGE_TASKS = 1000;

const CONTAINERS = `SELECT task_seq, destination,
  untranslated + draft + translated + proofread + blocked + stale AS units,
  stored_status IS 'skipped' AS is_skipped,
  stored_status IS NOT 'skipped' AND (
    CASE WHEN :review IS NULL THEN draft + translated + proofread + blocked + stale > 0
    ELSE EXISTS (SELECT 1 FROM review_row WHERE review_id = :review AND review_row.task_seq = task.task_seq) END
    OR EXISTS (SELECT 1 FROM task_unit CROSS JOIN hold USING (unit_id)
      WHERE task_unit.task_seq = task.task_seq AND hold.target_language = :language)
    OR :is_older OR :publication IS NOT NULL AND EXISTS (SELECT 1 FROM task_unit
      CROSS JOIN published_text AS text ON text.unit_id IN (task_unit.unit_id, task_unit.carried_from)
      CROSS JOIN publication_container USING (patch_key)
      WHERE task_unit.task_seq = task.task_seq AND publication_id = :publication)
  ) AS has_texts FROM task
  WHERE build_id = :build AND is_visible = 1 AND destination >= :destination AND (destination, task_seq) > (:destination, :task_seq)
  ORDER BY destination, task_seq LIMIT ${PAGE_TASKS}`;

/**
 * Reads containers from the counts of the tasks, so that one costs little; `null` when the tasks are not those of the release and
 * the generation.
 */
export function publishableContainers(
  work: WorkReader,
  query: PublishableContainersQuery,
): PublishableContainers | null {
  const buildId = currentBuild(work, query);
  if (buildId === null) return null;
  const publication = previousPublication(work, query);
  const rows = work.sql(CONTAINERS).all({
    build: buildId,
    language: work.targetLanguage,
    review: query.reviewId,
    publication: publication?.id ?? null,
    // Units that moved in releases between can be known by their source only.
    is_older: Number(publication?.isNext === false),
    destination: query.after.destination,
    task_seq: query.after.taskSeq,
  });
  const last = rows.at(-1);
  return {
    items: rows.map((row) => ({
      destination: String(row['destination']),
      units: Number(row['units']),
      isSkipped: row['is_skipped'] === 1,
      hasTexts: row['has_texts'] === 1,
    })),
    next:
      last === undefined || rows.length < PAGE_TASKS
        ? null
        : { destination: String(last['destination']), taskSeq: Number(last['task_seq']) },
  };
}
