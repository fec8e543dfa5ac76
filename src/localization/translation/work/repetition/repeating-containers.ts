import type { Work } from '../store/work.ts';

/** A container of the current tasks, and whether its rule lets its units take part in repetitions. */
interface RepeatingContainer {
  readonly taskSeq: number;
  readonly destination: string;
  readonly archiveEntry: string | null;
  readonly repeats: boolean;
}

const PAGE_TASKS = 200;
const PAGE = `SELECT task_seq, destination, archive_entry, repeats FROM task JOIN build USING (build_id)
  WHERE build.target_language = ? AND build.state = 'current' AND task_seq > ? ORDER BY task_seq LIMIT ${PAGE_TASKS}`;

/** The containers after a task, in pages. */
export function repeatingContainers(work: Work, afterTask: number): readonly RepeatingContainer[] {
  return work
    .sql(PAGE)
    .all(work.targetLanguage, afterTask)
    .map((row) => ({
      taskSeq: Number(row['task_seq']),
      destination: String(row['destination']),
      archiveEntry: row['archive_entry'] as string | null,
      repeats: row['repeats'] === 1,
    }));
}

/** Writes which containers take part. */
export function setRepeating(
  work: Work,
  changes: readonly { readonly taskSeq: number; readonly repeats: boolean }[],
): void {
  work.database.transaction(() => {
    for (const { taskSeq, repeats } of changes) {
      work.sql('UPDATE task SET repeats = ? WHERE task_seq = ?').run(repeats ? 1 : 0, taskSeq);
    }
  });
}
