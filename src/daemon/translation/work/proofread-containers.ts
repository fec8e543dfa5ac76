import type { Database } from '../../database/sqlite-database.ts';

/** Where a container is. */
interface Container {
  readonly destination: string;
  readonly archiveEntry: string | null;
}

/** The containers of which a reviewer has accepted units, in one target language. They stay known over releases. */
export interface ProofreadContainers {
  has(container: Container): boolean;
  add(container: Container, now: number): void;
}

/** Creates the list. */
export function createProofreadContainers(database: Database, targetLanguage: string): ProofreadContainers {
  const find = database.prepare(
    `SELECT 1 FROM proofread_container WHERE target_language = ? AND destination = ? AND coalesce(archive_entry, '') = ?`,
  );
  const add = database.prepare('INSERT OR IGNORE INTO proofread_container VALUES (?, ?, ?, ?)');
  return {
    has: ({ destination, archiveEntry }) =>
      find.get(targetLanguage, destination, archiveEntry ?? '') !== undefined,
    add: ({ destination, archiveEntry }, now) => {
      add.run(destination, archiveEntry, targetLanguage, now);
    },
  };
}
