import type { Failpoints } from '../../../platform/files/failpoints.ts';
import { messageOf } from '../../../platform/errors.ts';
import { unixSeconds, type Clock } from '../../../platform/process/clock.ts';
import { releaseTaskError } from '../../releases/jobs/task-errors.ts';
import type { Publisher } from '../../releases/publish/publish.ts';
import type { ReleaseRepository } from '../../releases/records/release-repository.ts';
import { implementJob, type Job } from '../../tasks/job.ts';
import { TaskError, type TaskContext, type TaskResult } from '../../tasks/task.ts';
import { LOCALIZED_ROLLBACK_JOB, type RollbackArguments } from './rollback-job.ts';
import type { Rollback, RollbackRecords } from './rollback-records.ts';
import { planRollback } from './rollback-target.ts';
import { holdUnits, type RollbackTexts } from './rollback-texts.ts';

/** The points of a rollback where a test can stop the process, in the order in which they are reached. */
export const ROLLBACK_FAILPOINTS = [
  'localized.rollback.recorded',
  'localized.rollback.switched',
  'localized.rollback.held',
] as const;

export interface RollbackDependencies {
  readonly releases: ReleaseRepository;
  readonly publisher: Publisher;
  readonly rollbacks: RollbackRecords;
  readonly texts: RollbackTexts;
  readonly clock: Clock;
  readonly failpoints: Failpoints;
}

/**
 * The task `localized-rollback`: makes an earlier localized release current again, or withdraws the channel. Each step is recorded,
 * so that an attempt after a crash continues with the same releases.
 */
export function createRollbackTask(deps: RollbackDependencies): Job {
  return implementJob(LOCALIZED_ROLLBACK_JOB, async (context) => {
    try {
      return await rollBack(deps, context);
    } catch (error) {
      throw releaseTaskError(error);
    }
  });
}

async function rollBack(
  deps: RollbackDependencies,
  context: TaskContext<RollbackArguments>,
): Promise<TaskResult> {
  const { rollbacks: records, texts } = deps;
  const hit = (name: (typeof ROLLBACK_FAILPOINTS)[number]): void => {
    deps.failpoints.hit(name);
  };
  const rollback = records.get(context.taskId) ?? (await begin(deps, context));
  hit('localized.rollback.recorded');
  const version = await switchRelease(deps, rollback, context);
  records.switched(rollback, unixSeconds(deps.clock));
  hit('localized.rollback.switched');
  const held = await tried(context, async () => rollback.held_units ?? (await holdUnits(texts, rollback)));
  if (held.value !== null) records.finish(rollback.task_id, held.value);
  hit('localized.rollback.held');
  const marked = await tried(context, async () => {
    await texts.markPublished(rollback.to_release_id);
  });
  const error = held.error ?? marked.error;
  context.log('info', 'automatic publishing is stopped until it is resumed', { held_units: held.value });
  return {
    rolled_back_release_id: rollback.from_release_id,
    localized_release_id: rollback.to_release_id,
    withdrawn: rollback.to_release_id === null,
    held_units: held.value,
    ...(error === null ? {} : { open: openText(error) }),
    attestation_version: version,
  };
}

/**
 * Runs a step after the switch. Its failure does not make the rollback fail, because the rollback is in effect and the next
 * publish begins with what it has left open.
 */
async function tried<T>(
  context: TaskContext,
  step: () => Promise<T>,
): Promise<{ readonly value: T | null; readonly error: string | null }> {
  try {
    return { value: await step(), error: null };
  } catch (error) {
    context.signal.throwIfAborted();
    context.log('warn', openText(messageOf(error)));
    return { value: null, error: messageOf(error) };
  }
}

function openText(error: string): string {
  return `the release is taken back; units are put on hold and tasks are marked at the next publish: ${error}`;
}

/** Decides, hashes the target, and records the rollback. */
async function begin(deps: RollbackDependencies, context: TaskContext<RollbackArguments>): Promise<Rollback> {
  const { releases, publisher, rollbacks: records, clock } = deps;
  const { from, to } = planRollback(releases, records, context.args.localized_release_id ?? null);
  if (to !== null) await publisher.reverify(to, context);
  const begun = {
    task_id: context.taskId,
    from_release_id: from.release_id,
    to_release_id: to?.release_id ?? null,
    reviewer: context.reviewer,
    reason: context.reason,
    at: unixSeconds(clock),
  };
  records.begin(begun);
  return { ...begun, switched_at: null, held_units: null, reinstated_at: null, resumed_at: null };
}

/** Makes the switch that a rollback recorded, unless an attempt before has made it. */
async function switchRelease(
  { releases, publisher }: RollbackDependencies,
  { from_release_id: from, to_release_id: to }: Rollback,
  context: TaskContext,
): Promise<number | null> {
  const current = releases.pointer('localized')?.release_id ?? null;
  if (current !== from && current !== to) {
    throw new TaskError(
      'release_changed',
      `localized release ${from} is no longer current, so it was not taken back: ${current ?? 'none'} is; look at it and roll back again`,
    );
  }
  if (to === null) return await publisher.withdraw('localized', context);
  const target = releases.get('localized', to);
  if (target === null) throw new Error(`release ${to} vanished while it was to become current again`);
  const version = await publisher.makeCurrent(target, context);
  context.log('info', 'the earlier localized release is current again', {
    release_id: to,
    rolled_back_release_id: from,
    attestation_version: version,
  });
  return version;
}
