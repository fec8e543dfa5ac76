import type { ReleaseChannel } from '../kubernetes/objects.ts';
import { AdminRefused } from '../pods/admin-refused.ts';
import type { AdminToken, ServerClient } from '../pods/server-client.ts';
import { desiredSchedules, scheduleCalls, scheduleOwner, type ScheduleCall } from './desired-schedules.ts';

/** One daemon, and an object that wants schedules on it. */
export interface ScheduleTarget {
  readonly channel: ReleaseChannel;
  readonly pod: { readonly name: string; readonly origin: string };
  readonly token: AdminToken;
}

/** How schedules are read and changed. */
export interface ScheduleKeeperOptions {
  readonly client: Pick<ServerClient, 'schedules'>;
  readonly act: (target: ScheduleTarget, call: ScheduleCall) => Promise<unknown>;
  /** Whether an object may have schedules: it exists, and it acts for its channel. @param key `namespace/name` */
  readonly isActing: (key: string) => boolean;
}

/**
 * Makes the function that brings the schedules of one daemon to a spec. It also removes those of objects that were deleted
 * while no operator ran, or that do not act for their channel.
 */
export function createScheduleKeeper({
  client,
  act,
  isActing,
}: ScheduleKeeperOptions): (target: ScheduleTarget, holdSync: boolean) => Promise<void> {
  /** Whether the object, or one of its namespace that does not act, has the schedule. */
  const isKept = (id: string, { namespace, name }: ReleaseChannel): boolean => {
    const owner = scheduleOwner(id);
    if (owner?.namespace !== namespace) return false;
    return owner.name === name || !isActing(`${owner.namespace}/${owner.name}`);
  };

  return async (target, holdSync) => {
    const { channel, pod, token } = target;
    const desired = desiredSchedules(channel, holdSync);
    const reported = await client.schedules(pod.origin, token);
    const found = reported.filter(({ id }) => isKept(id, channel));
    for (const id of new Set([...desired, ...found].map((schedule) => schedule.id))) {
      const wanted = desired.find((schedule) => schedule.id === id);
      const actual = reported.find((schedule) => schedule.id === id) ?? null;
      for (const call of scheduleCalls(id, wanted, actual)) {
        await act(target, call).catch(ignore('schedule_exists', 'unknown_schedule'));
      }
    }
  };
}

/** Ignores rejections with these codes, which mean that another process was faster. */
export function ignore(...codes: readonly string[]): (error: unknown) => void {
  return (error) => {
    if (!(error instanceof AdminRefused) || error.code === null || !codes.includes(error.code)) throw error;
  };
}
