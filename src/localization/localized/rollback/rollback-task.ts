import { hit, type LocalizedChannel } from '../channel.ts';
import { messageOf } from '../../../platform/errors.ts';
import { unixSeconds } from '../../../platform/process/clock.ts';
import { releaseTaskError } from '../../../releases/jobs/task-errors.ts';
import { implementJob, type Job, callOf } from '../../../engine/tasks/job.ts';
import type { TaskContext, TaskResult } from '../../../engine/tasks/task.ts';
import { LOCALIZED_ROLLBACK_JOB, type RollbackArguments } from './rollback-job.ts';
import type { Rollback } from './rollback-records.ts';
import { planRollback, releaseChanged } from './rollback-target.ts';
import { recordEffect, holdUnits } from './rollback-effect.ts';
import { defineAction, type DefinedAction } from '../../../engine/define-action.ts';

/**
 * The task `localized-rollback`: makes an earlier localized release current again, or withdraws the channel. Each step is recorded,
 * so that an attempt after a crash continues with the same releases.
 */
export function createRollbackTask(channel: LocalizedChannel): Job {
  return implementJob(LOCALIZED_ROLLBACK_JOB, async (context) => {
    try {
      return context.args.dry_run ? await tryRollback(channel, context) : await rollBack(channel, context);
    } catch (error) {
      throw releaseTaskError(error);
    }
  });
}

async function tryRollback(
  { releases, rollbacks, texts }: LocalizedChannel,
  context: TaskContext<RollbackArguments>,
): Promise<TaskResult> {
  const { from, to } = planRollback(releases, rollbacks, context.args);
  const ids = { from: from.release_id, to: to?.release_id ?? null };
  // The rollback itself needs no translations, so its dry run does not fail without them either.
  const { value, error } = await tried(context, NOT_COMPARED, async () => ({
    changed: await texts.compare(ids, context.signal),
    heldUnits: await texts.countHolds(ids, context.signal),
  }));
  const changed = value?.changed ?? null;
  return {
    dry_run: true,
    rolled_back_release_id: ids.from,
    localized_release_id: ids.to,
    withdrawn: to === null,
    changed_units: changed?.units ?? null,
    held_units: value?.heldUnits ?? null,
    changes: changed?.changes ?? [],
    files: changed?.files ?? [],
    ...(error === null ? {} : { open: error }),
  };
}

async function rollBack(
  channel: LocalizedChannel,
  context: TaskContext<RollbackArguments>,
): Promise<TaskResult> {
  const rollback = channel.rollbacks.get(context.taskId) ?? (await begin(channel, context));
  hit(channel, 'localized.rollback.recorded');
  const version = await switchRelease(channel, rollback, context);
  const held = await recordAndHold(channel, rollback, context);
  hit(channel, 'localized.rollback.held');
  const marked = await tried(context, LEFT_OPEN, async () => {
    await channel.texts.markPublished(rollback.to_release_id);
  });
  const error = held.error ?? marked.error;
  context.log('info', 'automatic publishing is stopped until it is resumed', { held_units: held.value });
  return {
    rolled_back_release_id: rollback.from_release_id,
    localized_release_id: rollback.to_release_id,
    withdrawn: rollback.to_release_id === null,
    held_units: held.value,
    ...(error === null ? {} : { open: error }),
    attestation_version: version,
  };
}

/** Records that the rollback took effect, and then holds the units of the release that it took back. Returns their number, or the first failure. */
async function recordAndHold(
  channel: LocalizedChannel,
  rollback: Rollback,
  context: TaskContext,
): Promise<Tried<number>> {
  const { rollbacks: records, texts } = channel;
  const recorded = await tried(context, NOT_RECORDED, async () => {
    records.switched(rollback, unixSeconds(channel.clock));
  });
  hit(channel, 'localized.rollback.switched');
  if (recorded.error !== null) return recorded;
  return await tried(context, LEFT_OPEN, async () => {
    const units = rollback.held_units ?? (await holdUnits(texts, rollback));
    records.finish(rollback.task_id, units);
    return units;
  });
}

/** Begins the message of a step after the switch that failed: the rollback is in effect, and the next publish begins with it. */
const LEFT_OPEN = 'the release is taken back; units are put on hold and tasks are marked at the next publish';
/** The same for the record that the rollback took effect: without it no unit is put on hold, and the daemon tries again every minute. */
const NOT_RECORDED =
  'the release is taken back, so do not roll back again; the daemon records it and puts units on hold when it can';
const NOT_COMPARED = 'the texts cannot be compared, and the rollback does not need them';

type Tried<T> =
  | { readonly value: T; readonly error: null }
  | { readonly value: null; readonly error: string };

/** Runs a step whose failure does not make the task fail, but is in its result. */
async function tried<T>(context: TaskContext, failure: string, step: () => Promise<T>): Promise<Tried<T>> {
  try {
    return { value: await step(), error: null };
  } catch (error) {
    context.signal.throwIfAborted();
    const message = `${failure}: ${messageOf(error)}`;
    context.log('warn', message);
    return { value: null, error: message };
  }
}

async function begin(channel: LocalizedChannel, context: TaskContext<RollbackArguments>): Promise<Rollback> {
  const { publisher, rollbacks: records, clock } = channel;
  // The row of another rollback will be the newest one.
  recordEffect(channel);
  const { from, to } = planRollback(channel.releases, records, context.args);
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

async function switchRelease(
  { releases, publisher }: LocalizedChannel,
  { from_release_id: from, to_release_id: to }: Rollback,
  context: TaskContext,
): Promise<number | null> {
  const current = releases.pointer('localized')?.release_id ?? null;
  if (current !== from && current !== to && releases.announcedOf('localized')?.release_id !== from) {
    throw releaseChanged(from, current);
  }
  if (to === null) return await publisher.withdraw('localized', context);
  // An announced release may have the same texts. Its time can come during the switch, so its announcement ends first.
  await publisher.cancelAnnouncement('localized', context);
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

/** The control action `localized-rollback`: checks its request as far as possible now and queues the job. */
export function createRollbackAction({ engine, releases, rollbacks }: LocalizedChannel): DefinedAction {
  return defineAction(engine, 'localized-rollback', {
    job: ({ localized_release_id: wanted, args = {} }) =>
      callOf(LOCALIZED_ROLLBACK_JOB, { localized_release_id: wanted, ...args }),
    admit: ({ localized_release_id: wanted }) => {
      planRollback(releases, rollbacks, { localized_release_id: wanted });
    },
  });
}
