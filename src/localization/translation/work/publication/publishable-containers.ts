import type { ReadSnapshot } from '../../../../engine/database/sqlite-database.ts';
import type { PublishableQuery } from './publishable-targets.ts';
import { createPublicationFinder } from './published-before.ts';

/** Asks for the containers of a release, in the order of the parse index. */
export interface PublishableContainersQuery extends Omit<PublishableQuery, 'units'> {
  /** The last task of the answer before; 0 at the beginning. */
  readonly afterTask: number;
}

/** A file of a release, or an entry of an archive: those of one file come together. */
export interface PublishableContainer {
  /** Of the file in the parse index. */
  readonly position: number;
  readonly destination: string;
  readonly units: number;
  readonly isSkipped: boolean;
  /**
   * Whether a unit can have a target, be on hold, or be in the previous localized release. All units of a container without it are
   * untranslated. A skipped one is without it, because nothing else about its units counts.
   */
  readonly hasTexts: boolean;
}

/** Containers, and the task to continue after; `null` at the end. */
export interface PublishableContainers {
  readonly items: readonly PublishableContainer[];
  readonly next: number | null;
}

/** Reads containers for a localized release; `null` when the tasks are not those of the release and the generation. */
export type PublishableContainersReader = (query: PublishableContainersQuery) => PublishableContainers | null;

/** Tasks of one answer. */
const PAGE_TASKS = 1000;

/** Creates the reader of one target language. It answers from the counts of the tasks, so a container costs little. */
export function createPublishableContainersReader(
  database: Pick<ReadSnapshot, 'prepare'>,
  targetLanguage: string,
): PublishableContainersReader {
  const build = database.prepare(`SELECT build_id FROM build
    WHERE target_language = ? AND state = 'current' AND release_id = ? AND generation = ?`);
  const publicationOf = createPublicationFinder(database, targetLanguage);
  // The tasks of a build are in the order of the index. The plus keeps SQLite on the order of the table.
  const tasks = database.prepare(`SELECT task_seq, index_position, destination,
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
    WHERE +build_id = :build AND task_seq > :after ORDER BY task_seq LIMIT ${PAGE_TASKS}`);
  return ({ releaseId, generation, reviewId, previous, afterTask }) => {
    const found = build.get(targetLanguage, releaseId, generation);
    if (found === undefined) return null;
    const publication = publicationOf(previous);
    const rows = tasks.all({
      build: Number(found['build_id']),
      language: targetLanguage,
      review: reviewId,
      publication: publication?.id ?? null,
      // Units that moved in releases between can be known by their source only.
      is_older: Number(publication?.isNext === false),
      after: afterTask,
    });
    return {
      items: rows.map((row) => ({
        position: Number(row['index_position']),
        destination: String(row['destination']),
        units: Number(row['units']),
        isSkipped: row['is_skipped'] === 1,
        hasTexts: row['has_texts'] === 1,
      })),
      next: rows.length < PAGE_TASKS ? null : Number(rows.at(-1)?.['task_seq']),
    };
  };
}
