import { traceHeaders } from '../../platform/logging/trace.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import type { Database } from '../database/sqlite-database.ts';
import type { IdempotencyRepository } from './idempotency-repository.ts';
import type { JobDefinition } from './job.ts';
import {
  TaskError,
  idempotencyDigest,
  taskDedupeKey,
  type AcceptedTask,
  type InlineSubmission,
  type Task,
  type TaskSubmission,
} from './task.ts';
import type { TaskRepository } from './task-writes.ts';

/** Seconds for which an idempotency key refers to the task that its call got. */
export const IDEMPOTENCY_SECONDS = 86_400;

/** Writes the rows of new tasks. Each throws TaskError `idempotency_key_reused`. */
export interface TaskAcceptance {
  /** The task that an earlier call got under the same idempotency key, or `null`. */
  replayed(submission: InlineSubmission): Task | null;
  /** Creates a queued task of a job. */
  queue(submission: TaskSubmission, job: JobDefinition): AcceptedTask;
  /** Creates a task that runs now, inside its request. */
  begin(submission: InlineSubmission): AcceptedTask;
}

/** Creates the functions that accept tasks. */
export function createTaskAcceptance(options: {
  readonly database: Database;
  readonly repository: TaskRepository;
  readonly idempotency: IdempotencyRepository;
  readonly clock: Clock;
  readonly createId: () => string;
  readonly bootId: string;
}): TaskAcceptance {
  const { database, repository, idempotency, clock } = options;

  const replayed = ({ idempotencyKey, kind, args }: InlineSubmission): Task | null => {
    if (idempotencyKey === undefined) return null;
    const since = unixSeconds(clock) - IDEMPOTENCY_SECONDS;
    const known = idempotency.find(idempotencyDigest(idempotencyKey), since);
    if (known === null) return null;
    if (known.dedupeKey !== taskDedupeKey(kind, args)) {
      throw new TaskError(
        'idempotency_key_reused',
        `the Idempotency-Key was used for a request other than ${kind} with these fields; send a new key`,
      );
    }
    return repository.get(known.taskId);
  };

  const insert = (submission: InlineSubmission, dedupeKey: string, job: JobDefinition | null): Task =>
    repository.insert({
      taskId: options.createId(),
      kind: submission.kind,
      lane: job?.lane ?? 'admin',
      status: job === null ? 'running' : 'queued',
      args: submission.args,
      dedupeKey,
      maxAttempts: job?.maxAttempts ?? 1,
      nowMs: clock.now(),
      bootId: options.bootId,
      scheduleId: submission.scheduleId ?? null,
      reviewer: submission.reviewer ?? null,
      reason: submission.reason ?? null,
      correlationId: submission.correlationId ?? null,
      trace: traceHeaders(),
    });

  const accept = (submission: InlineSubmission, job: JobDefinition | null, dedupe: boolean): AcceptedTask => {
    const dedupeKey = taskDedupeKey(submission.kind, submission.args);
    return database.transaction(() => {
      const known = replayed(submission);
      if (known !== null) return { task: known, deduplicated: true };
      const joined = dedupe ? repository.findLive(dedupeKey) : null;
      const task = joined ?? insert(submission, dedupeKey, job);
      // Also for a task that the call joined: a retry after its end must not start another one.
      if (submission.idempotencyKey !== undefined) {
        const digest = idempotencyDigest(submission.idempotencyKey);
        idempotency.remember(digest, task.task_id, dedupeKey, unixSeconds(clock));
      }
      return { task, deduplicated: joined !== null };
    });
  };

  return {
    replayed,
    queue: (submission, job) => accept(submission, job, submission.dedupe),
    begin: (submission) => accept(submission, null, false),
  };
}
