import type { WorkTools } from '../store/work-tools.ts';

interface HandoffExport {
  readonly releaseId: string;
  /** The path of the file below the exchange folder. */
  readonly file: string;
  /** Lower-case hexadecimal. */
  readonly sha256: string;
  readonly units: number;
  /** Unix seconds. */
  readonly createdAt: number;
}

/** The files that were written for translators, in one target language. */
export interface HandoffExports {
  /** Records a complete file. */
  addExport(written: HandoffExport): void;
  /** The newest one; `null` before the first. */
  lastExport(): HandoffExport | null;
}

/** Creates the record of exports in an open database. */
export function createHandoffExports({ database, targetLanguage }: WorkTools): HandoffExports {
  const add =
    database.prepare(`INSERT INTO handoff_export (release_id, target_language, file, sha256, units, created_at)
    VALUES (?, ?, ?, ?, ?, ?)`);
  const last = database.prepare(
    'SELECT * FROM handoff_export WHERE target_language = ? ORDER BY entry DESC LIMIT 1',
  );
  return {
    addExport: ({ releaseId, file, sha256, units, createdAt }) => {
      add.run(releaseId, targetLanguage, file, sha256, units, createdAt);
    },
    lastExport: () => {
      const row = last.get(targetLanguage);
      if (row === undefined) return null;
      return {
        releaseId: String(row['release_id']),
        file: String(row['file']),
        sha256: String(row['sha256']),
        units: Number(row['units']),
        createdAt: Number(row['created_at']),
      };
    },
  };
}
