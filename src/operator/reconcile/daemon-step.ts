import type { Accepted } from '../../contract/schemas/answers/admin.ts';
import { LeadershipLost, type Leadership } from '../election/leadership.ts';
import { AdminRefused, meaningOf } from '../pods/admin-refused.ts';
import type { ReleaseRow, ReleaseStatus, ServerClient } from '../pods/server-client.ts';
import type { Obstacle } from '../pods/server-pods.ts';
import { planPin, type PinPlan } from './pin.ts';
import { createScheduleKeeper, type ScheduleKeeperOptions, type ScheduleTarget } from './schedule-keeper.ts';
import { messageOf } from '../../platform/errors.ts';

/** The result for one daemon. */
export interface DaemonOutcome {
  /** Its release report; `null` when it did not answer. */
  readonly status: ReleaseStatus | null;
  readonly stalled: Obstacle | null;
  readonly waiting: Obstacle | null;
  /** The crash loop that it reports, or `null`. */
  readonly crashLoop: Obstacle | null;
  /** Whether the request in the annotation was handled. */
  readonly requestHandled: boolean;
}

/** How daemons are reached. */
export interface DaemonStepOptions extends Pick<ScheduleKeeperOptions, 'isActing'> {
  readonly client: ServerClient;
  readonly leadership: Leadership;
}

/** One daemon, and the desired state. */
export interface DaemonTask extends ScheduleTarget {
  /** Value of the annotation that is not handled yet, or `null`. */
  readonly requestedAt: string | null;
}

/**
 * Makes the step that brings one daemon to the state that a spec asks for. It reads, compares, and changes only what
 * differs, so any process may repeat it at any time.
 */
export function createDaemonStep({
  client,
  leadership,
  isActing,
}: DaemonStepOptions): (task: DaemonTask) => Promise<DaemonOutcome> {
  const act = async (
    { pod, token }: ScheduleTarget,
    call: { readonly action: Parameters<ServerClient['control']>[2]; readonly body: object },
    key: string | null,
  ): Promise<Accepted> =>
    await leadership.act(
      async (signal) => await client.control(pod.origin, token, call.action, call.body, { key, signal }),
    );

  const keepSchedules = createScheduleKeeper({
    client,
    isActing,
    act: async (task, call) => await act(task, call, null),
  });

  /** Reads the history, which is long, only if the pinned release is not current. */
  const pinPlan = async ({ channel, pod, token }: DaemonTask, status: ReleaseStatus): Promise<PinPlan> => {
    const { spec } = channel;
    if (spec.release === undefined || status[spec.channel]?.release_id === spec.release) {
      return planPin(spec, status, []);
    }
    const history: readonly ReleaseRow[] = await client.releases(pod.origin, token, spec.channel);
    return planPin(spec, status, history);
  };

  const followPin = async (
    task: DaemonTask,
    plan: PinPlan,
  ): Promise<Pick<DaemonOutcome, 'stalled' | 'waiting'>> => {
    const { channel } = task;
    if (plan.kind === 'stalled') return { stalled: plan.obstacle, waiting: null };
    if (plan.kind !== 'act' || channel.spec.suspend) return { stalled: null, waiting: null };
    const release = channel.spec.release ?? '';
    // Once per generation of the spec: repeated calls give the state of the first one's task.
    const key = `${channel.uid}:${channel.generation}:${plan.action}:${release}`;
    const { status, task_id: taskId } = await act(task, plan, key);
    if (status === 'queued' || status === 'running' || status === 'cancelling') {
      const message = `${plan.action} of ${release} is ${status} (task ${taskId})`;
      return { stalled: null, waiting: { reason: 'ReleaseChanging', message } };
    }
    // A successful task shows in the report a moment later. If it does not, the release was changed again.
    const message = `${plan.action} of ${release} ${status} (task ${taskId}), but the release is not current`;
    return { stalled: { reason: 'TaskFailed', message }, waiting: null };
  };

  const handleRequest = async (task: DaemonTask): Promise<boolean> => {
    const { channel, requestedAt } = task;
    if (requestedAt === null) return false;
    if (channel.spec.channel === 'official' && !channel.spec.suspend) {
      await act(task, { action: 'sync', body: {} }, `${channel.uid}:sync:${requestedAt}`);
    }
    return true;
  };

  return async (task) => {
    let status: ReleaseStatus | null = null;
    try {
      status = await client.releaseStatus(task.pod.origin, task.token);
      const plan = await pinPlan(task, status);
      const holdSync = plan.kind === 'reached' || (plan.kind === 'stalled' && plan.holdSync);
      await keepSchedules(task, holdSync);
      const { stalled, waiting } = await followPin(task, plan);
      const requestHandled = await handleRequest(task);
      return { status, stalled, waiting, crashLoop: crashLoopOf(task, status), requestHandled };
    } catch (error) {
      if (error instanceof LeadershipLost) throw error;
      const reason = meaningOf(error);
      const obstacle = { reason, message: `pod ${task.pod.name}: ${describeFailure(error)}` };
      const isPassing = reason === 'AdminUnavailable';
      return {
        status,
        stalled: isPassing ? null : obstacle,
        waiting: isPassing ? obstacle : null,
        crashLoop: crashLoopOf(task, status),
        requestHandled: false,
      };
    }
  };
}

function crashLoopOf({ pod }: DaemonTask, status: ReleaseStatus | null): Obstacle | null {
  if (typeof status?.crash_loop !== 'string') return null;
  return { reason: 'DaemonCrashLoop', message: `pod ${pod.name}: ${status.crash_loop}` };
}

function describeFailure(error: unknown): string {
  const message = messageOf(error);
  return error instanceof AdminRefused && error.code !== null ? `${message} (${error.code})` : message;
}
