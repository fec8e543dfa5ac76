import type { Accepted } from '../../contract/schemas/answers/admin.ts';
import { LeadershipLost, type Leadership } from '../election/leadership.ts';
import { AdminRefused, meaningOf } from '../pods/admin-refused.ts';
import type { Result } from '../../domain/result.ts';
import { failure, success } from '../../domain/result.ts';
import type { ReleaseRow, ReleaseStatus, ServerClient, TranslationStatus } from '../pods/server-client.ts';
import type { Obstacle } from '../pods/server-pods.ts';
import { planPin, type PinPlan } from './pin.ts';
import { createScheduleKeeper, type ScheduleKeeperOptions, type ScheduleTarget } from './schedule-keeper.ts';
import { messageOf } from '../../platform/errors.ts';

/** The result for one daemon. */
export interface DaemonOutcome {
  /** Its release report; `null` when it did not answer. */
  readonly status: ReleaseStatus | null;
  /** Its report of translations, or why there is none; `null` when nobody asked. Only a localized channel has them. */
  readonly texts: Result<TranslationStatus, Obstacle> | null;
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
  const pinPlan = async (
    { channel, pod, token }: DaemonTask,
    status: ReleaseStatus,
    texts: TranslationStatus | null,
  ): Promise<PinPlan> => {
    const { spec } = channel;
    if (spec.release === undefined || status[spec.channel]?.release_id === spec.release) {
      return planPin(spec, status, [], texts);
    }
    const history: readonly ReleaseRow[] = await client.releases(pod.origin, token, spec.channel);
    return planPin(spec, status, history, texts);
  };

  /** Translations that cannot be read keep nothing else from happening. */
  const readTexts = async ({ channel, pod, token }: DaemonTask): Promise<DaemonOutcome['texts']> => {
    if (channel.spec.channel !== 'localized') return null;
    try {
      return success(await client.translationStatus(pod.origin, token));
    } catch (error) {
      const message = `pod ${pod.name}: translations: ${describeFailure(error)}`;
      return failure({ reason: meaningOf(error), message });
    }
  };

  const followPin = async (
    task: DaemonTask,
    plan: PinPlan,
    baseId: string | null,
  ): Promise<Pick<DaemonOutcome, 'stalled' | 'waiting'>> => {
    const { channel, pod, token } = task;
    if (plan.kind === 'stalled') return { stalled: plan.obstacle, waiting: null };
    if (plan.kind === 'waiting') return { stalled: null, waiting: plan.obstacle };
    if (plan.kind !== 'act' || channel.spec.suspend) return { stalled: null, waiting: null };
    const release = channel.spec.release ?? '';
    // Repeated calls give the state of the first one's task. Another spec, request or official release tries again.
    const key = [channel.uid, channel.generation, channel.requestedAt, baseId, plan.action, release].join(
      ':',
    );
    const { status, task_id: taskId } = await act(task, plan, key);
    if (status === 'queued' || status === 'running' || status === 'cancelling') {
      const message = `${plan.action} of ${release} is ${status} (task ${taskId})`;
      return { stalled: null, waiting: { reason: 'ReleaseChanging', message } };
    }
    // A successful task shows in the report a moment later. If it does not, the release was changed again.
    const why = await client.taskFailure(pod.origin, token, taskId);
    const message = `${plan.action} of ${release} ${status} (task ${taskId}): ${why ?? 'the release is not current'}`;
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
    let texts: DaemonOutcome['texts'] = null;
    try {
      status = await client.releaseStatus(task.pod.origin, task.token);
      texts = await readTexts(task);
      const plan = await pinPlan(task, status, texts?.ok === true ? texts.value : null);
      const holdSync = plan.kind === 'reached' || (plan.kind === 'stalled' && plan.holdSync);
      await keepSchedules(task, holdSync);
      const { stalled, waiting } = await followPin(task, plan, status.official?.release_id ?? null);
      const requestHandled = await handleRequest(task);
      return { status, texts, stalled, waiting, crashLoop: crashLoopOf(task, status), requestHandled };
    } catch (error) {
      if (error instanceof LeadershipLost) throw error;
      const reason = meaningOf(error);
      const obstacle = { reason, message: `pod ${task.pod.name}: ${describeFailure(error)}` };
      const isPassing = reason === 'AdminUnavailable';
      return {
        status,
        texts,
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
