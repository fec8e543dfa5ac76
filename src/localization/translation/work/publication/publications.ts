import type { SQLOutputValue } from 'node:sqlite';
import { blake3OfText } from '../../../../platform/hashing/text-blake3.ts';
import { targetDigest } from '../store/accepted-findings.ts';
import { refreshTasks } from '../store/task-counts.ts';
import type { Work, WorkReader } from '../store/work.ts';
import { TRIAL_PUBLICATION } from './trial-publication.ts';

/** A localized release whose texts are recorded. */
export interface NewPublication {
  readonly localizedReleaseId: string;
  /** The official release that it is built on. */
  readonly baseReleaseId: string;
}

/** A patched container of a localized release. */
export interface PublishedContainer {
  readonly destination: string;
  /** In hexadecimal. Containers with one key have the same texts. */
  readonly patchKey: string;
}

/** The text of a unit in a patched container. */
export interface PublishedText {
  readonly unitId: Uint8Array;
  readonly source: string;
  readonly target: string;
}

/** Two localized releases, one of which takes the place of the other. */
export interface ComparedPublications {
  readonly from: string;
  /** `null`: all texts are official again. */
  readonly to: string | null;
}

/** A rollback: the release that is taken back, and the one that becomes current again. */
export interface TakenBack extends ComparedPublications {
  readonly reviewer: string | null;
  readonly reason: string | null;
}

const KEPT_PUBLICATIONS = 50;
/** Rows that one step of the cleanup deletes. */
const STEP_ROWS = 5000;
/** Tasks that one step marks, and units after which it ends. */
const STEP = { tasks: 500, units: 20_000 };
/** Enough of a digest to tell texts apart. */
const DIGEST_BYTES = 16;

/** Also a comparison that a crash interrupted. A comparison forgets no release. */
const REPLACED = `SELECT publication_id FROM publication WHERE target_language = :language AND
  (localized_release_id IN (:id, '${TRIAL_PUBLICATION}') OR (:id <> '${TRIAL_PUBLICATION}' AND
   publication_id <= (SELECT publication_id FROM publication WHERE target_language = :language
    AND localized_release_id <> '${TRIAL_PUBLICATION}' ORDER BY publication_id DESC LIMIT 1 OFFSET ${KEPT_PUBLICATIONS - 1})))`;
const LOOSEN = `INSERT OR IGNORE INTO loose_patch_key SELECT patch_key FROM publication_container
  WHERE publication_id = :dropped AND NOT EXISTS (SELECT 1 FROM publication_container AS other
   WHERE other.patch_key = publication_container.patch_key AND other.publication_id <> :dropped)`;

/** Begins to record a release, or begins again. Those before the newest {@link KEPT_PUBLICATIONS} are forgotten. @returns its number */
export function beginPublication(work: Work, { localizedReleaseId, baseReleaseId }: NewPublication): number {
  const language = work.targetLanguage;
  return work.database.transaction(() => {
    for (const row of work.sql(REPLACED).all({ language, id: localizedReleaseId })) {
      drop(work, Number(row['publication_id']));
    }
    const added = work
      .sql(
        'INSERT INTO publication (localized_release_id, base_release_id, target_language, at) VALUES (?, ?, ?, ?)',
      )
      .run(localizedReleaseId, baseReleaseId, language, work.now());
    return Number(added.lastInsertRowid);
  });
}

/** Forgets the record of a release. The cleanup deletes its texts. */
export function forgetPublication(work: Work, localizedReleaseId: string): void {
  work.database.transaction(() => {
    const found = findPublication(work, localizedReleaseId);
    if (found !== null) drop(work, found.publicationId);
  });
}

function drop(work: Work, dropped: number): void {
  work.sql(LOOSEN).run({ dropped });
  work.sql('DELETE FROM publication_container WHERE publication_id = ?').run(dropped);
  work.sql('DELETE FROM publication WHERE publication_id = ?').run(dropped);
}

/** Whether the texts of a localized release are recorded. */
export function hasPublication(work: Work, localizedReleaseId: string): boolean {
  return findPublication(work, localizedReleaseId) !== null;
}

/**
 * Compares a recorded release with containers.
 *
 * @returns how many of these it has, and how many it has in all; `null` unless it is recorded on this base
 */
export function compareContainers(
  work: Work,
  {
    publication,
    containers,
  }: { readonly publication: NewPublication; readonly containers: readonly PublishedContainer[] },
): { readonly same: number; readonly total: number } | null {
  const recorded = findPublication(work, publication.localizedReleaseId);
  if (recorded?.baseReleaseId !== publication.baseReleaseId) return null;
  const { publicationId } = recorded;
  const find = work.sql(
    'SELECT 1 FROM publication_container WHERE publication_id = ? AND destination = ? AND patch_key = ?',
  );
  const same = containers.filter(
    ({ destination, patchKey }) =>
      find.get(publicationId, destination, Buffer.from(patchKey, 'hex')) !== undefined,
  );
  const count = work.sql('SELECT count(*) AS containers FROM publication_container WHERE publication_id = ?');
  return { same: same.length, total: Number(count.get(publicationId)?.['containers']) };
}

/** The keys whose texts are not recorded yet. */
export function unknownPatchKeys(work: Work, patchKeys: readonly string[]): readonly string[] {
  const find = work.sql('SELECT 1 FROM publication_container WHERE patch_key = ? LIMIT 1');
  return patchKeys.filter((key) => find.get(Buffer.from(key, 'hex')) === undefined);
}

/** Records texts of containers, by digest. */
export function addPublishedTexts(
  work: Work,
  batch: { readonly patchKey: string; readonly texts: readonly PublishedText[] },
): void {
  const patchKey = Buffer.from(batch.patchKey, 'hex');
  const add = work.sql('INSERT OR REPLACE INTO published_text VALUES (?, ?, ?, ?)');
  work.database.transaction(() => {
    work.sql('INSERT OR IGNORE INTO loose_patch_key VALUES (?)').run(patchKey);
    for (const { unitId, source, target } of batch.texts) {
      add.run(patchKey, unitId, digestOfTarget(target), shortDigest(blake3OfText(source)));
    }
  });
}

const FASTEN = 'DELETE FROM loose_patch_key WHERE patch_key = ?';

/** Adds containers whose texts are recorded. Equal containers of several releases are stored once. */
export function addPublishedContainers(
  work: Work,
  {
    publicationId,
    containers,
  }: { readonly publicationId: number; readonly containers: readonly PublishedContainer[] },
): void {
  const add = work.sql('INSERT OR REPLACE INTO publication_container VALUES (?, ?, ?)');
  work.database.transaction(() => {
    for (const { destination, patchKey: key } of containers) {
      const patchKey = Buffer.from(key, 'hex');
      add.run(publicationId, destination, patchKey);
      work.sql(FASTEN).run(patchKey);
    }
  });
}

const DROP_TEXTS = `DELETE FROM published_text WHERE patch_key = ?1 AND unit_id IN
  (SELECT unit_id FROM published_text WHERE patch_key = ?1 LIMIT ${STEP_ROWS})`;

/** Deletes a bounded part of what no release has. @returns whether there may be more */
export function cleanUpPublications(work: Work): boolean {
  return work.database.transaction(() => {
    const patchKey = work.sql('SELECT patch_key FROM loose_patch_key LIMIT 1').get()?.['patch_key'] ?? null;
    if (patchKey === null) return false;
    if (Number(work.sql(DROP_TEXTS).run(patchKey).changes) < STEP_ROWS) work.sql(FASTEN).run(patchKey);
    return true;
  });
}

// The plus keeps SQLite on the order of the table, in which the tasks of a build are beside each other.
const MARKED_TASKS = `SELECT task_seq, patch_key, stored_status FROM task
  LEFT JOIN publication_container AS container ON container.publication_id = :publication
  AND container.destination = task.destination
  WHERE +build_id = (SELECT build_id FROM build WHERE target_language = :language AND state = 'current') AND task_seq > :after
  AND (stored_status IS NULL OR stored_status = 'published')
  ORDER BY task_seq LIMIT ${STEP.tasks}`;

/**
 * Marks a bounded part of the tasks all of whose targets are texts of the release, and no others.
 *
 * @param localizedReleaseId `null`: no release is published, so no task is; the same for one whose texts are not recorded
 * @returns the task to continue after; `null` at the end
 */
export function markPublished(
  work: Work,
  {
    localizedReleaseId,
    afterTask,
  }: { readonly localizedReleaseId: string | null; readonly afterTask: number },
): number | null {
  return work.database.transaction(() => {
    const recorded = localizedReleaseId === null ? null : findPublication(work, localizedReleaseId);
    const { publicationId } = recorded ?? NONE;
    if (afterTask < 0) {
      work
        .sql('UPDATE publication SET current_since = ?, taken_back_at = NULL WHERE publication_id = ?')
        .run(work.now(), publicationId);
    }
    const query = { publication: publicationId, language: work.targetLanguage };
    let last: number | null = null;
    let seen = 0;
    for (const row of work.sql(MARKED_TASKS).all({ ...query, after: afterTask })) {
      if (seen >= STEP.units) break;
      last = Number(row['task_seq']);
      const { count, isPublished } = compareTask(work, last, row['patch_key'] ?? null);
      seen += count;
      if (isPublished === (row['stored_status'] === 'published')) continue;
      work
        .sql('UPDATE task SET stored_status = ? WHERE task_seq = ?')
        .run(isPublished ? 'published' : null, last);
      work.touched.add(last);
    }
    refreshTasks(work);
    return last;
  });
}

const PUBLISHED_UNITS = `SELECT target_text, target_digest FROM task_unit
  LEFT JOIN target ON target.unit_id = task_unit.unit_id AND target_language = :language
  AND target.source_digest = task_unit.source_digest AND state IN ('draft', 'translated', 'proofread')
  LEFT JOIN published_text AS text ON text.patch_key = :patch_key AND text.unit_id = task_unit.unit_id
  WHERE task_seq = :task_seq`;

function compareTask(
  work: Work,
  taskSeq: number,
  patchKey: SQLOutputValue,
): { readonly count: number; readonly isPublished: boolean } {
  if (patchKey === null) return { count: 0, isPublished: false };
  const query = { language: work.targetLanguage, patch_key: patchKey, task_seq: taskSeq };
  let count = 0;
  for (const row of work.sql(PUBLISHED_UNITS).iterate(query)) {
    count += 1;
    if (!isSameText(row['target_text'], row['target_digest'])) return { count, isPublished: false };
  }
  return { count, isPublished: true };
}

/** The units that differ and that nobody holds. */
const DIFFERENCES = `SELECT DISTINCT text.unit_id FROM publication_container AS container
  JOIN published_text AS text USING (patch_key) WHERE container.publication_id = :from
  AND NOT EXISTS (SELECT 1 FROM publication_container AS other
    WHERE other.patch_key = container.patch_key AND other.publication_id = :to)
  AND NOT EXISTS (SELECT 1 FROM published_text AS kept JOIN publication_container AS other
    ON other.patch_key = kept.patch_key AND other.publication_id = :to
    WHERE kept.unit_id = text.unit_id AND kept.target_digest = text.target_digest)
  AND NOT EXISTS (SELECT 1 FROM hold WHERE hold.unit_id = text.unit_id AND target_language = :language)`;
const BEFORE = `SELECT max(publication_id) AS publication_id FROM publication
  WHERE target_language = ? AND publication_id < ? AND current_since IS NOT NULL AND taken_back_at IS NULL`;

/**
 * Puts the units on hold whose text in the release that is taken back differs from that of the other one. Without another one, texts
 * that the release before it had stay free.
 *
 * @returns how many
 */
export function holdDifferences(work: Work, { from, to, reviewer, reason }: TakenBack): number {
  const hold = `INSERT INTO hold SELECT unit_id, :language, :reviewer, :reason, :now FROM (${DIFFERENCES})`;
  return work.database.transaction(() => {
    const compared = comparedReleases(work, from, to);
    work
      .sql('UPDATE publication SET taken_back_at = ? WHERE publication_id = ?')
      .run(work.now(), findPublication(work, from)?.publicationId ?? NONE.publicationId);
    if (compared === null) return 0;
    return Number(work.sql(hold).run({ ...compared, reviewer, reason, now: work.now() }).changes);
  });
}

/** Counts the units that {@link holdDifferences} would put on hold now. */
export function countDifferences(work: Work, { from, to }: ComparedPublications): number {
  const compared = comparedReleases(work, from, to);
  if (compared === null) return 0;
  return Number(work.sql(`SELECT count(*) AS units FROM (${DIFFERENCES})`).get(compared)?.['units']);
}

/** The numbers of the compared releases; `null` when no unit is held. */
function comparedReleases(
  work: Work,
  from: string,
  to: string | null,
): Record<string, SQLOutputValue> | null {
  const taken = findPublication(work, from);
  if (taken === null) return null;
  const kept =
    to === null
      ? (work.sql(BEFORE).get(work.targetLanguage, taken.publicationId)?.['publication_id'] ?? null)
      : (findPublication(work, to)?.publicationId ?? null);
  // Compared with nothing, every text would be held, and no publish could resume.
  if (to === null && kept === null) return null;
  return { language: work.targetLanguage, from: taken.publicationId, to: kept };
}

const NONE: RecordedRelease = { publicationId: -1, baseReleaseId: null };

interface RecordedRelease {
  readonly publicationId: number;
  readonly baseReleaseId: string | null;
}

/** The record of a localized release. */
export function findPublication(work: WorkReader, localizedReleaseId: string): RecordedRelease | null {
  const row = work
    .sql(
      'SELECT publication_id, base_release_id FROM publication WHERE localized_release_id = ? AND target_language = ?',
    )
    .get(localizedReleaseId, work.targetLanguage);
  if (row === undefined) return null;
  return { publicationId: Number(row['publication_id']), baseReleaseId: String(row['base_release_id']) };
}

function isSameText(text: unknown, digest: unknown): boolean {
  return (
    typeof text === 'string' &&
    digest instanceof Uint8Array &&
    Buffer.compare(digestOfTarget(text), digest) === 0
  );
}

/** The recorded digest of a target. */
export function digestOfTarget(text: string): Uint8Array {
  return shortDigest(targetDigest(text));
}

/** As much of a digest as is recorded. */
export function shortDigest(digest: Uint8Array): Uint8Array {
  return digest.subarray(0, DIGEST_BYTES);
}
