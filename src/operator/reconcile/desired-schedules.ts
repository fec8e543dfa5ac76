import { durationSeconds } from '../../contract/crd/duration.ts';
import {
  LOCALIZATION_JOBS,
  PUBLISHING_JOBS,
  type LocalizationJob,
} from '../../contract/crd/localization-jobs.ts';
import type { ReleaseChannelSpec } from '../../contract/crd/release-channel.ts';
import type { ControlAction } from '../../contract/actions/actions.ts';
import type { ControlBody } from '../../contract/actions/control-body.ts';
import { CONTROLLER_SCHEDULE_PREFIX } from '../../contract/schemas/schedule-ids.ts';
import type { ScheduleGroup } from '../../contract/schemas/vocabulary.ts';
import type { ReportedSchedule } from '../pods/server-client.ts';

export interface DesiredSchedule {
  readonly id: string;
  readonly group: ScheduleGroup;
  readonly action: ControlAction | LocalizationJob;
  readonly args: readonly string[];
  readonly everySeconds: number;
  readonly enabled: boolean;
}

interface ScheduleCall {
  readonly action: 'schedule-add' | 'schedule-update' | 'schedule-remove';
  readonly body: ControlBody;
}

interface ChannelName {
  readonly namespace: string;
  readonly name: string;
}

interface SpecifiedChannel extends ChannelName {
  readonly spec: ReleaseChannelSpec;
}

const RESOURCE_PURPOSES = ['sync', 'verify', 'cleanup'] as const;
type ResourcePurpose = (typeof RESOURCE_PURPOSES)[number];

/** The purposes of all schedules of an object. Localization has one for each job. */
const PURPOSES = [...RESOURCE_PURPOSES, ...LOCALIZATION_JOBS] as const;
type Purpose = (typeof PURPOSES)[number];

const CLEANUP_SECONDS = 86_400;
/** Interval of a disabled schedule that only blocks the daemon's configured one. */
const HELD_SECONDS = 86_400;

/** Every schedule id that an object can own; unique to it by namespace and name. */
export function scheduleIds(channel: ChannelName): readonly string[] {
  return PURPOSES.map((purpose) => scheduleId(channel, purpose));
}

/** Whether a schedule belongs to an object. */
export function isScheduleOf({ namespace, name }: ChannelName, id: string): boolean {
  const owner = scheduleOwner(id);
  return owner?.namespace === namespace && owner.name === name;
}

/** The object that owns a schedule; `null` for a schedule of no object. */
export function scheduleOwner(id: string): ChannelName | null {
  if (!id.startsWith(CONTROLLER_SCHEDULE_PREFIX)) return null;
  const [namespace, name, purpose, ...rest] = id.slice(CONTROLLER_SCHEDULE_PREFIX.length).split(':');
  const isOurs = PURPOSES.some((each) => each === purpose) && rest.length === 0;
  return isOurs && namespace !== undefined && name !== undefined ? { namespace, name } : null;
}

/**
 * The schedules that a spec asks for. While a schedule of an object exists, the daemon does not run its own configured
 * one with the same action. So a disabled sync or cleanup is wanted even without an interval in the spec when nothing
 * must be fetched or deleted. A disabled verification does not block the configured one. One cleanup serves both channels,
 * so only an official object holds it back; a suspended localized one has no schedule for it.
 *
 * @param holdSync whether syncing is paused, because it would replace the pinned release
 */
export function desiredSchedules(channel: SpecifiedChannel, holdSync: boolean): readonly DesiredSchedule[] {
  return [...resourceSchedules(channel, holdSync), ...localizationSchedules(channel)];
}

/** The jobs of localization. While a release is pinned, none publishes another one. */
function localizationSchedules(channel: SpecifiedChannel): readonly DesiredSchedule[] {
  const { schedules = [], release, suspend } = channel.spec;
  return schedules.flatMap(({ action, args = [], interval }) => {
    const everySeconds = durationSeconds(interval);
    if (everySeconds === null) return [];
    const isHeld = release !== undefined && PUBLISHING_JOBS.has(action);
    return [
      {
        id: scheduleId(channel, action),
        group: 'i18n' as const,
        action,
        args,
        everySeconds,
        enabled: !suspend && !isHeld,
      },
    ];
  });
}

function resourceSchedules(channel: SpecifiedChannel, holdSync: boolean): readonly DesiredSchedule[] {
  const { spec } = channel;
  const enabled = !spec.suspend;
  const wanted: Partial<Record<ResourcePurpose, Omit<DesiredSchedule, 'id' | 'group'>>> = {};
  const syncSeconds = secondsOf(spec.sync);
  const isOfficial = spec.channel === 'official';
  const held = isOfficial && spec.suspend;
  if (syncSeconds !== null || held || (isOfficial && holdSync)) {
    wanted.sync = {
      action: 'sync',
      args: [],
      everySeconds: syncSeconds ?? HELD_SECONDS,
      enabled: enabled && !holdSync,
    };
  }
  const verifySeconds = secondsOf(spec.verify);
  if (verifySeconds !== null) {
    const args = [`channel=${spec.channel}`];
    wanted.verify = { action: 'verify', args, everySeconds: verifySeconds, enabled };
  }
  if (spec.retention !== undefined && (isOfficial || enabled)) {
    const args = [`count=${spec.retention.keep}`];
    wanted.cleanup = { action: 'release-cleanup', args, everySeconds: CLEANUP_SECONDS, enabled };
  } else if (held) {
    wanted.cleanup = { action: 'release-cleanup', args: [], everySeconds: HELD_SECONDS, enabled: false };
  }
  return RESOURCE_PURPOSES.flatMap((purpose) => {
    const schedule = wanted[purpose];
    return schedule === undefined ? [] : [{ id: scheduleId(channel, purpose), group: 'res', ...schedule }];
  });
}

/** The calls that make one schedule equal to the desired one; none if it already is. They are idempotent. */
export function scheduleCalls(
  id: string,
  desired: DesiredSchedule | undefined,
  actual: ReportedSchedule | null,
): readonly ScheduleCall[] {
  const remove: ScheduleCall = { action: 'schedule-remove', body: { id } };
  if (desired === undefined) return actual === null ? [] : [remove];
  const add: ScheduleCall = {
    action: 'schedule-add',
    body: {
      id,
      group: desired.group,
      action: desired.action,
      ...(desired.args.length === 0 ? {} : { args: [...desired.args] }),
      every_seconds: desired.everySeconds,
      enabled: desired.enabled,
    },
  };
  if (actual === null) return [add];
  // A limit on runs cannot be removed by an update; the operator sets none.
  if (actual.max_runs !== null) return [remove, add];
  const change = changeOf(desired, actual);
  return Object.keys(change).length === 0 ? [] : [{ action: 'schedule-update', body: { id, ...change } }];
}

/** Only the differences: an interval that is sent again would restart. */
function changeOf(desired: DesiredSchedule, actual: ReportedSchedule): ControlBody {
  const sameArgs =
    actual.args.length === desired.args.length &&
    actual.args.every((pair, index) => pair === desired.args[index]);
  return {
    ...(actual.group === desired.group ? {} : { group: desired.group }),
    ...(actual.action === desired.action ? {} : { action: desired.action }),
    ...(sameArgs ? {} : desired.args.length === 0 ? { clear_args: true } : { args: [...desired.args] }),
    ...(Number(actual.every_seconds) === desired.everySeconds ? {} : { every_seconds: desired.everySeconds }),
    ...(actual.enabled === desired.enabled ? {} : { enabled: desired.enabled }),
  };
}

function scheduleId({ namespace, name }: ChannelName, purpose: Purpose): string {
  return `${CONTROLLER_SCHEDULE_PREFIX}${namespace}:${name}:${purpose}`;
}

function secondsOf(part: ReleaseChannelSpec['sync']): number | null {
  return part === undefined ? null : durationSeconds(part.interval);
}
