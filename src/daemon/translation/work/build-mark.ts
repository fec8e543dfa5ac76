import type { Database } from '../../database/sqlite-database.ts';
import type { BuiltFor } from './task-update.ts';

/** The release and the generation of the parse index that the current tasks were built for. */
export interface BuildMark {
  current(): BuiltFor;
  isCurrent(mark: BuiltFor): boolean;
}

/** Creates the mark of one target language. */
export function createBuildMark(database: Database, targetLanguage: string): BuildMark {
  const find = database.prepare(
    `SELECT release_id, generation FROM build WHERE target_language = ? AND state = 'current'`,
  );
  const current = (): BuiltFor => {
    const { release_id: releaseId = '', generation = 0 } = find.get(targetLanguage) ?? {};
    return { releaseId: String(releaseId), generation: Number(generation) };
  };
  return {
    current,
    isCurrent: (mark) => {
      const { releaseId, generation } = current();
      return mark.releaseId === releaseId && mark.generation === generation;
    },
  };
}
