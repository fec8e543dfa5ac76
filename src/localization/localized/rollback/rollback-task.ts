import { hit, type LocalizedChannel } from '../channel.ts';
import { messageOf } from '../../../platform/errors.ts';
import { unixSeconds } from '../../../platform/process/clock.ts';
import { releaseTaskError } from '../../../releases/jobs/task-errors.ts';
import {
  implementJob,
  type Job,
  callOf,
  type ArgumentsOf,
  type JobDefinition,
} from '../../../engine/tasks/job.ts';
import { type TaskContext, type TaskResult, TaskError } from '../../../engine/tasks/task.ts';
import type { Rollback, RollbackRecords } from './rollback-records.ts';
import { recordEffect, holdUnits, takenBackBy } from './rollback-effect.ts';
import { defineAction, type DefinedAction } from '../../../engine/define-action.ts';
import {
  publishedLast,
  RELEASES_MAX,
  type ReleaseRepository,
} from '../../../releases/records/release-repository.ts';
import { isKept, type ReleaseRow } from '../../../releases/records/release-row.ts';
import { z } from 'zod';
import { flag, releaseId } from '../../../contract/actions/field-schemas.ts';

export const LOCALIZED_ROLLBACK_JOB = {
  kind: 'localized-rollback',
  summary:
    'Makes an earlier localized release of the current official one current again, or withdraws the channel without one.',
  lane: 'release',
  scope: 'publish',
  groups: [],
  arguments: z.strictObject({
    localized_release_id: releaseId.optional(),
    from: releaseId.optional(),
    dry_run: flag.default(false),
  }),
  resumable: true,
  maxAttempts: 3,
  storeLock: 'shared',
} as const satisfies JobDefinition;

type RollbackArguments = ArgumentsOf<typeof LOCALIZED_ROLLBACK_JOB>;

/**
 * The task `localized-rollback`: makes an earlier localized release current again, or withdraws the channel. Each step is recorded,
 * so that an attempt after a crash continues with the same releases.
 */
export function rollbackJob(channel: LocalizedChannel): Job {
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
const LEFT_OPEN =
  'the release is rolled back; units are put on hold and tasks are marked at the next publish';
/** The same for the record that the rollback took effect: without it no unit is put on hold, and the daemon tries again every minute. */
const NOT_RECORDED =
  'the release is rolled back, so do not roll back again; the daemon records it and puts units on hold when it can';
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
export function rollbackAction({ engine, releases, rollbacks }: LocalizedChannel): DefinedAction {
  return defineAction(engine, 'localized-rollback', {
    job: ({ localized_release_id: wanted, args = {} }) =>
      callOf(LOCALIZED_ROLLBACK_JOB, { localized_release_id: wanted, ...args }),
    admit: ({ localized_release_id: wanted }) => {
      planRollback(releases, rollbacks, { localized_release_id: wanted });
    },
  });
}

/**
 * Decides what a rollback does. It takes back the release that was published last: the announced one, if there is one, otherwise the
 * current one. Without a wanted release, the one that takes its place is the current one, when it is sound and only the announced one
 * is taken back; otherwise the sound one that was current last. It is built on the current official release and was not taken back
 * itself since.
 *
 * @param args the release that the caller wants instead, and the one that it takes back; default: the one that was published last
 * @throws TaskError `nothing_to_roll_back`, `unknown_release`, `base_mismatch`, `release_changed`
 */
function planRollback(
  releases: ReleaseRepository,
  rollbacks: RollbackRecords,
  args: { readonly localized_release_id?: string | undefined; readonly from?: string | undefined },
): {
  readonly from: ReleaseRow;
  /** `null`: the channel is withdrawn. */
  readonly to: ReleaseRow | null;
} {
  const { localized_release_id: wanted = null, from: expected = null } = args;
  const current = releases.current('localized');
  if (current === null) {
    throw new TaskError('nothing_to_roll_back', 'no localized release is current');
  }
  const from = expected === current.release_id ? current : (publishedLast(releases, 'localized') ?? current);
  if (expected !== null && from.release_id !== expected) throw releaseChanged(expected, from.release_id);
  const baseId = releases.pointer('official')?.release_id ?? null;
  if (wanted !== null) return { from, to: wantedTarget(releases, from, baseId, wanted) };
  const earlier = releases
    .list('localized', RELEASES_MAX)
    .filter(
      (release) =>
        release.release_id !== from.release_id &&
        release.base_release_id === baseId &&
        (release.state === 'superseded' || release.state === 'current') &&
        release.published_at !== null &&
        takenBackBy(releases, rollbacks, release.release_id) === null,
    )
    .toSorted((a, b) => leftAt(b) - leftAt(a));
  return { from, to: earlier[0] ?? null };
}

/** When a release was current last, Unix seconds. The one that is current now comes after all others. */
function leftAt({ state, superseded_at: at }: ReleaseRow): number {
  return state === 'current' ? Number.MAX_SAFE_INTEGER : (at ?? 0);
}

function releaseChanged(from: string, currentId: string | null): TaskError {
  return new TaskError(
    'release_changed',
    `localized release ${from} is no longer current, so it was not rolled back: ${currentId ?? 'none'} is; check it and roll back again`,
  );
}

function wantedTarget(
  releases: ReleaseRepository,
  from: ReleaseRow,
  baseId: string | null,
  wanted: string,
): ReleaseRow {
  const target = releases.get('localized', wanted);
  if (target === null || !isKept(target)) {
    throw new TaskError(
      'unknown_release',
      `no localized release ${wanted} is kept; see the list of releases`,
    );
  }
  if (target.base_release_id !== baseId) {
    throw new TaskError(
      'base_mismatch',
      `localized release ${wanted} was made for ${target.base_release_id ?? 'no release'}, and ${baseId ?? 'none'} is the current official one`,
    );
  }
  if (target.release_id === from.release_id) {
    throw new TaskError(
      'nothing_to_roll_back',
      `localized release ${wanted} is the one that was published last, so it cannot take its own place`,
    );
  }
  return target;
}
