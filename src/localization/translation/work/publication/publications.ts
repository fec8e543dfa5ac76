import type { SQLOutputValue } from 'node:sqlite';
import { blake3OfText } from '../../../../platform/hashing/text-blake3.ts';
import type { ReadSnapshot } from '../../../../engine/database/sqlite-database.ts';
import { targetDigest } from '../store/accepted-findings.ts';
import type { WorkTools } from '../store/work-tools.ts';

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

/** A rollback: the release that is taken back, and the one that becomes current again. */
export interface TakenBack {
  readonly from: string;
  /** `null` when the channel is withdrawn. */
  readonly to: string | null;
  readonly reviewer: string | null;
  readonly reason: string | null;
}

/**
 * The texts of localized releases, by digest: which tasks are published, and which units a rollback puts on hold. Equal containers
 * of several releases are stored once.
 */
export interface Publications {
  /** Begins to record a release, or begins again. Those before the newest {@link KEPT_PUBLICATIONS} are forgotten. @returns its number */
  beginPublication(publication: NewPublication): number;
  /** Whether the texts of a localized release are recorded. */
  hasPublication(localizedReleaseId: string): boolean;
  /**
   * Compares a recorded release with containers.
   *
   * @returns how many of these it has, and how many it has in all; `null` unless it is recorded on this base
   */
  compareContainers(query: {
    readonly publication: NewPublication;
    readonly containers: readonly PublishedContainer[];
  }): { readonly same: number; readonly total: number } | null;
  /** The keys whose texts are not recorded yet. */
  unknownPatchKeys(patchKeys: readonly string[]): readonly string[];
  addPublishedTexts(batch: { readonly patchKey: string; readonly texts: readonly PublishedText[] }): void;
  /** Adds containers whose texts are recorded. */
  addPublishedContainers(batch: {
    readonly publicationId: number;
    readonly containers: readonly PublishedContainer[];
  }): void;
  /** Deletes a bounded part of what no release has. @returns whether there may be more */
  cleanUpPublications(): boolean;
  /**
   * Marks a bounded part of the tasks all of whose targets are texts of the release, and no others.
   *
   * @param localizedReleaseId `null`: no release is published, so no task is; the same for one whose texts are not recorded
   * @returns the task to continue after; `null` at the end
   */
  markPublished(from: {
    readonly localizedReleaseId: string | null;
    readonly afterTask: number;
  }): number | null;
  /**
   * Puts the units on hold whose text in the release that is taken back differs from that of the other one. Without another one,
   * texts that the release before it had stay free.
   *
   * @returns how many
   */
  holdDifferences(taken: TakenBack): number;
  /** Counts the units that {@link holdDifferences} would put on hold now. */
  countDifferences(taken: Pick<TakenBack, 'from' | 'to'>): number;
}

/** Localized releases whose texts stay recorded. */
const KEPT_PUBLICATIONS = 50;
/** Rows that one step of the cleanup deletes. */
const STEP_ROWS = 5000;
/** Tasks that one step marks, and units after which it ends. */
const STEP = { tasks: 500, units: 20_000 };
/** Enough of a digest to tell texts apart. */
const DIGEST_BYTES = 16;

const BUILD = `SELECT build_id FROM build WHERE target_language = :language AND state = 'current'`;

/** Creates the publications of one target language. */
export function createPublications(tools: WorkTools): Publications {
  return {
    ...createRecords(tools),
    ...createComparison(tools),
    ...createMarks(tools),
    ...createHolds(tools),
  };
}

function createRecords({
  database,
  targetLanguage,
  now,
}: WorkTools): Omit<
  Publications,
  'compareContainers' | 'markPublished' | 'holdDifferences' | 'countDifferences'
> {
  const publication = createRecordFinder(database, targetLanguage);
  const others =
    database.prepare(`SELECT publication_id FROM publication WHERE target_language = :language AND
    (localized_release_id = :id OR publication_id <= (SELECT publication_id FROM publication
     WHERE target_language = :language ORDER BY publication_id DESC LIMIT 1 OFFSET ${KEPT_PUBLICATIONS - 1}))`);
  const loosen =
    database.prepare(`INSERT OR IGNORE INTO loose_patch_key SELECT patch_key FROM publication_container
    WHERE publication_id = :dropped AND NOT EXISTS (SELECT 1 FROM publication_container AS other
     WHERE other.patch_key = publication_container.patch_key AND other.publication_id <> :dropped)`);
  const dropContainers = database.prepare('DELETE FROM publication_container WHERE publication_id = ?');
  const drop = database.prepare('DELETE FROM publication WHERE publication_id = ?');
  const add = database.prepare(`INSERT INTO publication
    (localized_release_id, base_release_id, target_language, at) VALUES (?, ?, ?, ?)`);
  const find = database.prepare('SELECT 1 FROM publication_container WHERE patch_key = ? LIMIT 1');
  const addLoose = database.prepare('INSERT OR IGNORE INTO loose_patch_key VALUES (?)');
  const addText = database.prepare('INSERT OR REPLACE INTO published_text VALUES (?, ?, ?, ?)');
  const addContainer = database.prepare('INSERT OR REPLACE INTO publication_container VALUES (?, ?, ?)');
  const fasten = database.prepare('DELETE FROM loose_patch_key WHERE patch_key = ?');
  const loose = database.prepare('SELECT patch_key FROM loose_patch_key LIMIT 1');
  const dropTexts = database.prepare(`DELETE FROM published_text WHERE patch_key = ?1 AND unit_id IN
    (SELECT unit_id FROM published_text WHERE patch_key = ?1 LIMIT ${STEP_ROWS})`);
  return {
    beginPublication: ({ localizedReleaseId, baseReleaseId }) =>
      database.transaction(() => {
        for (const row of others.all({ language: targetLanguage, id: localizedReleaseId })) {
          const dropped = Number(row['publication_id']);
          loosen.run({ dropped });
          dropContainers.run(dropped);
          drop.run(dropped);
        }
        return Number(add.run(localizedReleaseId, baseReleaseId, targetLanguage, now()).lastInsertRowid);
      }),
    hasPublication: (localizedReleaseId) => publication(localizedReleaseId) !== null,
    unknownPatchKeys: (keys) => keys.filter((key) => find.get(Buffer.from(key, 'hex')) === undefined),
    addPublishedTexts: ({ patchKey: key, texts: added }) => {
      const patchKey = Buffer.from(key, 'hex');
      database.transaction(() => {
        addLoose.run(patchKey);
        for (const { unitId, source, target } of added) {
          addText.run(patchKey, unitId, digestOfTarget(target), shortDigest(blake3OfText(source)));
        }
      });
    },
    addPublishedContainers: ({ publicationId, containers: added }) => {
      database.transaction(() => {
        for (const { destination, patchKey: key } of added) {
          const patchKey = Buffer.from(key, 'hex');
          addContainer.run(publicationId, destination, patchKey);
          fasten.run(patchKey);
        }
      });
    },
    cleanUpPublications: () =>
      database.transaction(() => {
        const patchKey = loose.get()?.['patch_key'] ?? null;
        if (patchKey === null) return false;
        if (Number(dropTexts.run(patchKey).changes) < STEP_ROWS) fasten.run(patchKey);
        return true;
      }),
  };
}

function createComparison({ database, targetLanguage }: WorkTools): Pick<Publications, 'compareContainers'> {
  const publication = createRecordFinder(database, targetLanguage);
  const hasContainer = database.prepare(
    'SELECT 1 FROM publication_container WHERE publication_id = ? AND destination = ? AND patch_key = ?',
  );
  const countContainers = database.prepare(
    'SELECT count(*) AS containers FROM publication_container WHERE publication_id = ?',
  );
  return {
    compareContainers: ({ publication: { localizedReleaseId, baseReleaseId }, containers }) => {
      const recorded = publication(localizedReleaseId);
      if (recorded?.baseReleaseId !== baseReleaseId) return null;
      const { publicationId } = recorded;
      const same = containers.filter(
        ({ destination, patchKey }) =>
          hasContainer.get(publicationId, destination, Buffer.from(patchKey, 'hex')) !== undefined,
      );
      return { same: same.length, total: Number(countContainers.get(publicationId)?.['containers']) };
    },
  };
}

function createMarks({
  database,
  targetLanguage,
  counts,
  now,
}: WorkTools): Pick<Publications, 'markPublished'> {
  const publication = createRecordFinder(database, targetLanguage);
  // The plus keeps SQLite on the order of the table, in which the tasks of a build are beside each other.
  const tasks = database.prepare(`SELECT task_seq, patch_key, stored_status FROM task
    LEFT JOIN publication_container AS container ON container.publication_id = :publication
    AND container.destination = task.destination
    WHERE +build_id = (${BUILD}) AND (:base IS NULL OR release_id = :base) AND task_seq > :after
    AND (stored_status IS NULL OR stored_status = 'published')
    ORDER BY task_seq LIMIT ${STEP.tasks}`);
  const units = database.prepare(`SELECT target_text, target_digest FROM task_unit
    LEFT JOIN target ON target.unit_id = task_unit.unit_id AND target_language = :language
    AND target.source_digest = task_unit.source_digest AND state IN ('draft', 'translated', 'proofread')
    LEFT JOIN published_text AS text ON text.patch_key = :patch_key AND text.unit_id = task_unit.unit_id
    WHERE task_seq = :task_seq`);
  const compare = (taskSeq: number, patchKey: SQLOutputValue): { count: number; isPublished: boolean } => {
    if (patchKey === null) return { count: 0, isPublished: false };
    let count = 0;
    for (const row of units.iterate({ language: targetLanguage, patch_key: patchKey, task_seq: taskSeq })) {
      count += 1;
      if (!isSameText(row['target_text'], row['target_digest'])) return { count, isPublished: false };
    }
    return { count, isPublished: true };
  };
  const set = database.prepare('UPDATE task SET stored_status = ? WHERE task_seq = ?');
  const noteCurrent = database.prepare(
    'UPDATE publication SET current_since = ?, taken_back_at = NULL WHERE publication_id = ?',
  );
  return {
    markPublished: ({ localizedReleaseId, afterTask }) =>
      database.transaction(() => {
        const recorded = localizedReleaseId === null ? null : publication(localizedReleaseId);
        const { publicationId, baseReleaseId } = recorded ?? NONE;
        if (afterTask < 0) noteCurrent.run(now(), publicationId);
        const query = { publication: publicationId, language: targetLanguage, base: baseReleaseId };
        let last: number | null = null;
        let seen = 0;
        for (const row of tasks.all({ ...query, after: afterTask })) {
          if (seen >= STEP.units) break;
          last = Number(row['task_seq']);
          const { count, isPublished } = compare(last, row['patch_key'] ?? null);
          seen += count;
          if (isPublished === (row['stored_status'] === 'published')) continue;
          set.run(isPublished ? 'published' : null, last);
          counts.touch(last);
        }
        counts.refresh(now());
        return last;
      }),
  };
}

function createHolds({
  database,
  targetLanguage,
  now,
}: WorkTools): Pick<Publications, 'holdDifferences' | 'countDifferences'> {
  const publication = createRecordFinder(database, targetLanguage);
  const before = database.prepare(`SELECT max(publication_id) AS publication_id FROM publication
    WHERE target_language = ? AND publication_id < ? AND current_since IS NOT NULL AND taken_back_at IS NULL`);
  const mark = database.prepare('UPDATE publication SET taken_back_at = ? WHERE publication_id = ?');
  const units = `SELECT DISTINCT text.unit_id FROM publication_container AS container
    JOIN published_text AS text USING (patch_key) WHERE container.publication_id = :from
    AND NOT EXISTS (SELECT 1 FROM publication_container AS other
      WHERE other.patch_key = container.patch_key AND other.publication_id = :to)
    AND NOT EXISTS (SELECT 1 FROM published_text AS kept JOIN publication_container AS other
      ON other.patch_key = kept.patch_key AND other.publication_id = :to
      WHERE kept.unit_id = text.unit_id AND kept.target_digest = text.target_digest)
    AND NOT EXISTS (SELECT 1 FROM hold WHERE hold.unit_id = text.unit_id AND target_language = :language)`;
  const hold = database.prepare(
    `INSERT INTO hold SELECT unit_id, :language, :reviewer, :reason, :now FROM (${units})`,
  );
  const count = database.prepare(`SELECT count(*) AS units FROM (${units})`);
  /** The numbers of the compared releases; `null` when no unit is held. */
  const compared = ({ from, to }: Pick<TakenBack, 'from' | 'to'>): Record<string, SQLOutputValue> | null => {
    const taken = publication(from);
    if (taken === null) return null;
    const kept =
      to === null
        ? (before.get(targetLanguage, taken.publicationId)?.['publication_id'] ?? null)
        : (publication(to)?.publicationId ?? null);
    // Compared with nothing, every text would be held, and no publish could resume.
    if (to === null && kept === null) return null;
    return { language: targetLanguage, from: taken.publicationId, to: kept };
  };
  return {
    holdDifferences: ({ from, to, reviewer, reason }) =>
      database.transaction(() => {
        const releases = compared({ from, to });
        mark.run(now(), publication(from)?.publicationId ?? NONE.publicationId);
        return releases === null
          ? 0
          : Number(hold.run({ ...releases, reviewer, reason, now: now() }).changes);
      }),
    countDifferences: (taken) => {
      const releases = compared(taken);
      return releases === null ? 0 : Number(count.get(releases)?.['units']);
    },
  };
}

/** Stands for no release at all. */
const NONE: RecordedRelease = { publicationId: -1, baseReleaseId: null };

interface RecordedRelease {
  readonly publicationId: number;
  readonly baseReleaseId: string | null;
}

/** Creates the search for a recorded release. */
export function createRecordFinder(
  database: Pick<ReadSnapshot, 'prepare'>,
  targetLanguage: string,
): (localizedReleaseId: string) => RecordedRelease | null {
  const find = database.prepare(
    'SELECT publication_id, base_release_id FROM publication WHERE localized_release_id = ? AND target_language = ?',
  );
  return (localizedReleaseId) => {
    const row = find.get(localizedReleaseId, targetLanguage);
    if (row === undefined) return null;
    return { publicationId: Number(row['publication_id']), baseReleaseId: String(row['base_release_id']) };
  };
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
