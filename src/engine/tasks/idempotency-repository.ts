import type { Database } from '../database/sqlite-database.ts';

/** Maps idempotency keys to the tasks that their calls got: each created its task, or joined one. */
export interface IdempotencyRepository {
  /** The task of the key if it was recorded at or after `since` (Unix seconds). */
  find(keyDigest: string, since: number): { readonly taskId: string; readonly dedupeKey: string } | null;
  /** Records the task; replaces an earlier task of the key. */
  remember(keyDigest: string, taskId: string, dedupeKey: string, now: number): void;
  /** Deletes the keys of a task, so that the same request can be sent again. */
  forgetTask(taskId: string): void;
  forgetBefore(before: number): void;
}

/** Creates the repository over the main database. */
export function createIdempotencyRepository(database: Database): IdempotencyRepository {
  const find = database.prepare(
    'SELECT task_id, dedupe_key FROM idempotency WHERE key_digest = :key_digest AND created_at >= :since',
  );
  const remember = database.prepare(
    `INSERT INTO idempotency (key_digest, dedupe_key, task_id, created_at)
     VALUES (:key_digest, :dedupe_key, :task_id, :now)
     ON CONFLICT (key_digest) DO UPDATE SET dedupe_key = excluded.dedupe_key, task_id = excluded.task_id,
       created_at = excluded.created_at`,
  );
  const forgetTask = database.prepare('DELETE FROM idempotency WHERE task_id = :task_id');
  const forgetBefore = database.prepare('DELETE FROM idempotency WHERE created_at < :before');
  return {
    find: (keyDigest, since) => {
      const row = find.get({ key_digest: keyDigest, since }) as
        | { task_id: string; dedupe_key: string }
        | undefined;
      return row === undefined ? null : { taskId: row.task_id, dedupeKey: row.dedupe_key };
    },
    remember: (keyDigest, taskId, dedupeKey, now) =>
      void remember.run({ key_digest: keyDigest, task_id: taskId, dedupe_key: dedupeKey, now }),
    forgetTask: (taskId) => void forgetTask.run({ task_id: taskId }),
    forgetBefore: (before) => void forgetBefore.run({ before }),
  };
}
