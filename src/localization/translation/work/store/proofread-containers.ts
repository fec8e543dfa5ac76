import type { Database } from '../../../../engine/database/sqlite-database.ts';

/** Containers of which a proofread has accepted units, at any time. A missing term can block in them. */
export interface ProofreadContainers {
  has(destination: string, archiveEntry: string | null): boolean;
  /** @param now Unix seconds */
  add(destination: string, archiveEntry: string | null, now: number): void;
}

/** Creates the containers of one target language. */
export function createProofreadContainers(database: Database, targetLanguage: string): ProofreadContainers {
  const find = database.prepare(`SELECT 1 FROM proofread_container
    WHERE target_language = ? AND destination = ? AND coalesce(archive_entry, '') = ?`);
  const add = database.prepare(`INSERT OR IGNORE INTO proofread_container
    (destination, archive_entry, target_language, at) VALUES (?, ?, ?, ?)`);
  return {
    has: (destination, archiveEntry) =>
      find.get(targetLanguage, destination, archiveEntry ?? '') !== undefined,
    add: (destination, archiveEntry, now) => {
      add.run(destination, archiveEntry, targetLanguage, now);
    },
  };
}
