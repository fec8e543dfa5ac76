import type { WorkTools } from '../store/work-tools.ts';

/** A container of the current tasks, and whether its units take part in repetitions. */
interface RepeatingContainer {
  readonly taskSeq: number;
  readonly destination: string;
  readonly archiveEntry: string | null;
  readonly repeats: boolean;
}

/** The containers whose rules let units take part in repetitions. */
export interface RepeatingContainers {
  /** The containers after a task, in pages. */
  repeatingContainers(afterTask: number): readonly RepeatingContainer[];
  setRepeating(changes: readonly Pick<RepeatingContainer, 'taskSeq' | 'repeats'>[]): void;
}

const PAGE_TASKS = 200;

/** Creates the containers of one target language. */
export function createRepeatingContainers({ database, targetLanguage }: WorkTools): RepeatingContainers {
  const page =
    database.prepare(`SELECT task_seq, destination, archive_entry, repeats FROM task JOIN build USING (build_id)
    WHERE build.target_language = ? AND build.state = 'current' AND task_seq > ? ORDER BY task_seq LIMIT ${PAGE_TASKS}`);
  const set = database.prepare('UPDATE task SET repeats = ? WHERE task_seq = ?');
  return {
    repeatingContainers: (afterTask) =>
      page.all(targetLanguage, afterTask).map((row) => ({
        taskSeq: Number(row['task_seq']),
        destination: String(row['destination']),
        archiveEntry: row['archive_entry'] as string | null,
        repeats: row['repeats'] === 1,
      })),
    setRepeating: (changes) => {
      database.transaction(() => {
        for (const { taskSeq, repeats } of changes) set.run(repeats ? 1 : 0, taskSeq);
      });
    },
  };
}
