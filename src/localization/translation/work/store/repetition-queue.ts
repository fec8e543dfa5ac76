import type { Database } from '../../../../engine/database/sqlite-database.ts';
import type { Row } from './target-rows.ts';

/** The groups of repetitions whose units may need the target of one of them. They are stored, so that no end of the program loses them. */
export interface RepetitionQueue {
  /** Whether there is work. */
  hasWork(): boolean;
  /** Looks through a bounded part of a new build for groups with a target. @returns whether there may be more */
  sweep(): boolean;
  /** Looks through the whole current build again. */
  sweepAgain(): void;
  /** The groups after an entry, at most `limit`. */
  after(entry: number, limit: number): readonly { readonly entry: number; readonly repetition: Uint8Array }[];
  /** Removes a group, unless it was noted again since. */
  remove(entry: number): void;
  count(): number;
}

/** Units that one step of the sweep looks at. */
const SWEEP_UNITS = 2000;

/** Creates the notes of changed targets: those of units that others repeat. */
export function createRepetitionNotes(
  database: Database,
  targetLanguage: string,
): (unitId: Uint8Array) => void {
  const note = database.prepare(`INSERT OR REPLACE INTO changed_repetition (target_language, repetition)
    SELECT ?, own.repetition FROM task_unit AS own WHERE own.unit_id = ? AND EXISTS (SELECT 1 FROM task_unit AS other
    WHERE other.repetition = own.repetition AND other.unit_id <> own.unit_id)`);
  return (unitId) => {
    note.run(targetLanguage, unitId);
  };
}

/** Creates the queue of one target language; call it inside a transaction. */
export function createRepetitionQueue(database: Database, targetLanguage: string): RepetitionQueue {
  const current = database.prepare(
    `SELECT build_id, swept_until FROM build WHERE target_language = ? AND state = 'current'`,
  );
  const page = database.prepare(`SELECT repetition, count(*) AS units FROM (SELECT repetition FROM task_unit
    WHERE repetition > ? ORDER BY repetition LIMIT ${SWEEP_UNITS}) GROUP BY repetition ORDER BY repetition`);
  const translated = database.prepare(`SELECT 1 FROM task_unit JOIN target USING (unit_id)
    WHERE repetition = ? AND target_language = ? LIMIT 1`);
  const advance = database.prepare('UPDATE build SET swept_until = ? WHERE build_id = ?');
  const add = database.prepare(
    'INSERT OR IGNORE INTO changed_repetition (target_language, repetition) VALUES (?, ?)',
  );
  const any = database.prepare('SELECT 1 FROM changed_repetition WHERE target_language = ? LIMIT 1');
  const count = database.prepare(
    'SELECT count(*) AS count FROM changed_repetition WHERE target_language = ?',
  );
  const after = database.prepare(`SELECT entry, repetition FROM changed_repetition
    WHERE target_language = ? AND entry > ? ORDER BY entry LIMIT ?`);
  const remove = database.prepare('DELETE FROM changed_repetition WHERE entry = ?');
  const unswept = (): Row | null => {
    const row = current.get(targetLanguage);
    return row === undefined || row['swept_until'] === null ? null : row;
  };
  return {
    hasWork: () => unswept() !== null || any.get(targetLanguage) !== undefined,
    sweep: () => {
      const build = unswept();
      if (build === null) return false;
      const groups = page.all(build['swept_until'] ?? null);
      const seen = groups.reduce((sum, { units }) => sum + Number(units), 0);
      for (const [at, { repetition = null, units }] of groups.entries()) {
        // The last group can continue on the next page.
        const mayRepeat = Number(units) > 1 || at === groups.length - 1;
        if (mayRepeat && translated.get(repetition, targetLanguage) !== undefined)
          add.run(targetLanguage, repetition);
      }
      const isLast = seen < SWEEP_UNITS;
      advance.run(isLast ? null : (groups.at(-1)?.['repetition'] ?? null), build['build_id'] ?? null);
      return !isLast;
    },
    sweepAgain: () => {
      advance.run(new Uint8Array(), current.get(targetLanguage)?.['build_id'] ?? null);
    },
    after: (entry, limit) =>
      after.all(targetLanguage, entry, limit).map((row) => ({
        entry: Number(row['entry']),
        repetition: row['repetition'] as Uint8Array,
      })),
    remove: (entry) => {
      remove.run(entry);
    },
    count: () => Number(count.get(targetLanguage)?.['count'] ?? 0),
  };
}
