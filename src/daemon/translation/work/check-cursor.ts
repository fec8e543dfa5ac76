import type { Database } from '../../database/sqlite-database.ts';

/** How far the runs until now have come. */
export interface CheckPlace {
  /** The last task; -1 before the first. */
  readonly taskSeq: number;
  /** The last unit of this task, where a run ended within it; `null`: the task is done. */
  readonly number: number | null;
}

/** Goes over the translated tasks in turn, a part with each run. */
export interface CheckCursor {
  get(name: CheckName): CheckPlace;
  set(name: CheckName, place: CheckPlace): void;
}

/** The two ways to check tasks. Each goes over all tasks by itself. */
export type CheckName = 'checked' | 'evaluated';

/** Creates the cursors of one target language. */
export function createCheckCursor(database: Database, targetLanguage: string): CheckCursor {
  const read = database.prepare(
    'SELECT task_seq, number FROM check_cursor WHERE name = ? AND target_language = ?',
  );
  const write = database.prepare(
    'INSERT OR REPLACE INTO check_cursor (name, target_language, task_seq, number) VALUES (?, ?, ?, ?)',
  );
  return {
    get: (name) => {
      const row = read.get(name, targetLanguage);
      const number = row?.['number'] ?? null;
      return { taskSeq: Number(row?.['task_seq'] ?? -1), number: number === null ? null : Number(number) };
    },
    set: (name, { taskSeq, number }) => {
      // A power failure may lose it: some units are checked once more then.
      database.transaction(() => write.run(name, targetLanguage, taskSeq, number), { durable: false });
    },
  };
}
