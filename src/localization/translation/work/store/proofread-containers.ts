import type { Work } from './work.ts';

/** Whether a proofread has accepted units of a container, at any time. A missing term can block in it. */
export function wasProofread(work: Work, destination: string, archiveEntry: string | null): boolean {
  const found = work
    .sql(
      `SELECT 1 FROM proofread_container
      WHERE target_language = ? AND destination = ? AND coalesce(archive_entry, '') = ?`,
    )
    .get(work.targetLanguage, destination, archiveEntry ?? '');
  return found !== undefined;
}

/** Records that a proofread has accepted units of a container. */
export function addProofread(work: Work, destination: string, archiveEntry: string | null): void {
  work
    .sql(
      `INSERT OR IGNORE INTO proofread_container (destination, archive_entry, target_language, at)
      VALUES (?, ?, ?, ?)`,
    )
    .run(destination, archiveEntry, work.targetLanguage, work.now());
}
