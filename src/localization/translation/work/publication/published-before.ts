import type { ReadSnapshot } from '../../../../engine/database/sqlite-database.ts';
import { createRecordFinder, shortDigest } from './publications.ts';

/** A localized release with whose texts a new one is compared. */
export interface PublishedBefore {
  readonly localizedReleaseId: string;
  /** The official release from which the units of the parse index were carried over. */
  readonly carriedFrom: string | null;
}

/** A unit as the parse index shows it. */
export interface PublishableUnit {
  readonly unitId: Uint8Array;
  readonly sourceDigest: Uint8Array;
  /** The id that the unit had with the same text in the release before; `null` for a new or changed text. */
  readonly unchangedFrom: Uint8Array | null;
}

interface PublicationBefore {
  readonly id: number;
  /** Whether the units of the parse index were carried over from its base. */
  readonly isNext: boolean;
}

/** Texts of one source that are looked at. */
const MOST_TEXTS = 1000;

/**
 * Creates the search for units that a localized release has with the same source. When official releases between both were not
 * followed, the ids of that release are not known for units that moved meanwhile; they are found by their source, among the texts
 * whose units are gone or have another source now.
 *
 * @returns a function of the localized release and of the tasks that the units belong to
 */
export function createPublishedBefore(
  database: Pick<ReadSnapshot, 'prepare'>,
  targetLanguage: string,
): (before: PublishedBefore | null, buildId: number) => (unit: PublishableUnit) => boolean {
  const publicationOf = createPublicationFinder(database, targetLanguage);
  // Texts that were recorded without their source count for the unit that was carried over unchanged.
  const byUnit = database.prepare(`SELECT 1 FROM published_text JOIN publication_container USING (patch_key)
    WHERE unit_id IN (:unit_id, :carried_id) AND publication_id = :publication
    AND (source_digest = :source OR (source_digest = x'' AND unit_id = :carried_id)) LIMIT 1`);
  const byText = database.prepare(`SELECT 1 FROM (SELECT unit_id FROM published_text AS text
      JOIN publication_container USING (patch_key)
      WHERE source_digest = :source AND publication_id = :publication LIMIT ${MOST_TEXTS}) AS text
    WHERE NOT EXISTS (SELECT 1 FROM task_unit JOIN task USING (task_seq)
      WHERE task_unit.unit_id = text.unit_id AND build_id = :build AND source_digest = :digest) LIMIT 1`);
  return (before, build) => {
    const publication = publicationOf(before);
    if (publication === null) return () => false;
    const { id, isNext } = publication;
    return ({ unitId, sourceDigest, unchangedFrom }) => {
      const source = shortDigest(sourceDigest);
      const unit = { unit_id: unitId, carried_id: unchangedFrom, publication: id, source };
      if (byUnit.get(unit) !== undefined) return true;
      if (isNext || unchangedFrom === null) return false;
      return byText.get({ source, publication: id, build, digest: sourceDigest }) !== undefined;
    };
  };
}

/** Creates the search for the record of a localized release; `null` without one. */
export function createPublicationFinder(
  database: Pick<ReadSnapshot, 'prepare'>,
  targetLanguage: string,
): (before: PublishedBefore | null) => PublicationBefore | null {
  const find = createRecordFinder(database, targetLanguage);
  return (before) => {
    const record = before === null ? null : find(before.localizedReleaseId);
    return record === null
      ? null
      : { id: record.publicationId, isNext: record.baseReleaseId === before?.carriedFrom };
  };
}
