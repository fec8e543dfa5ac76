import type { LanguagePair } from '../../../domain/memory/memory-record.ts';
import type { Database } from '../../../engine/database/sqlite-database.ts';

/** Gives the id of a pair of languages, and makes it when it is new. Calls belong into a transaction. */
export function createPairIds(database: Database): (pair: LanguagePair) => number {
  const insert = database.prepare(
    'INSERT INTO pair (source_language, target_language) VALUES (?, ?) ON CONFLICT DO NOTHING',
  );
  const select = database.prepare(
    'SELECT pair_id FROM pair WHERE source_language = ? AND target_language = ?',
  );
  return ({ source_language, target_language }) => {
    const found =
      select.get(source_language, target_language) ??
      (insert.run(source_language, target_language), select.get(source_language, target_language));
    return Number(found?.['pair_id']);
  };
}
