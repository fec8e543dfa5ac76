import type { ControlAction } from '../../contract/actions/actions.ts';
import type { ControlBody } from '../../contract/actions/control-body.ts';
import type { Accepted } from '../../contract/schemas/answers/admin.ts';
import { failure, success } from '../../domain/result.ts';
import type { ClusterView } from '../channels/cluster-view.ts';
import { LeadershipLost, type Leadership } from '../election/leadership.ts';
import type { ReleaseChannel } from '../kubernetes/objects.ts';
import { describeFailure, isRefusedAs, meaningOf } from '../pods/admin-refused.ts';
import type { AdminToken, ReleaseStatus, ServerClient } from '../pods/server-client.ts';
import type { Obstacle } from '../pods/server-pods.ts';
import { desiredSchedules, scheduleCalls, scheduleOwner } from './desired-schedules.ts';
import type { Texts } from './localization-status.ts';
import { planPin, type PinPlan } from './pin.ts';
import { isActing } from './rivalry.ts';

export interface DaemonOutcome {
  readonly status: ReleaseStatus | null;
  /** Its report of translations, or why there is none; `null` when nobody asked. Only a localized channel has them. */
  readonly texts: Texts | null;
  readonly stalled: Obstacle | null;
  readonly waiting: Obstacle | null;
  readonly crashLoop: Obstacle | null;
  readonly requestHandled: boolean;
}

interface Access {
  readonly client: ServerClient;
  readonly leadership: Leadership;
  readonly view: ClusterView;
}

interface DaemonTask {
  readonly channel: ReleaseChannel;
  readonly pod: { readonly name: string; readonly origin: string };
  readonly token: AdminToken;
  /** Value of the annotation that is not handled yet, or `null`. */
  readonly requestedAt: string | null;
}

/**
 * Brings one daemon to the state that a spec asks for. It reads, compares, and changes only what differs, so any process
 * may repeat it at any time.
 *
 * @throws LeadershipLost
 */
export async function bringDaemon(access: Access, task: DaemonTask): Promise<DaemonOutcome> {
  let status: ReleaseStatus | null = null;
  let texts: Texts | null = null;
  try {
    status = await access.client.releaseStatus(task.pod.origin, task.token);
    texts = await readTexts(access, task);
    const plan = await planRelease(access, task, status, texts);
    await keepSchedules(access, task, plan.kind === 'reached' || (plan.kind === 'stalled' && plan.holdSync));
    const { stalled = null, waiting = null } = await followPlan(access, task, plan, status);
    const requestHandled = await handleRequest(access, task);
    return { status, texts, stalled, waiting, crashLoop: crashLoopOf(task, status), requestHandled };
  } catch (error) {
    if (error instanceof LeadershipLost) throw error;
    const obstacle = obstacleOf(task, '', error);
    const isPassing = obstacle.reason === 'AdminUnavailable';
    return {
      status,
      texts,
      stalled: isPassing ? null : obstacle,
      waiting: isPassing ? obstacle : null,
      crashLoop: crashLoopOf(task, status),
      requestHandled: false,
    };
  }
}

/** @param key calls with an equal key start one task; `null` for an action that may be repeated */
async function act(
  { client, leadership }: Access,
  { pod, token }: DaemonTask,
  call: { readonly action: ControlAction; readonly body: ControlBody },
  key: string | null,
): Promise<Accepted> {
  return await leadership.act(
    async (signal) => await client.control(pod.origin, token, call.action, call.body, { key, signal }),
  );
}

/** Nothing else depends on the translations, so a failure is a value. */
async function readTexts({ client }: Access, task: DaemonTask): Promise<Texts | null> {
  if (task.channel.spec.channel !== 'localized') return null;
  try {
    return success(await client.translationStatus(task.pod.origin, task.token));
  } catch (error) {
    return failure(obstacleOf(task, 'translations: ', error));
  }
}

function obstacleOf({ pod }: DaemonTask, subject: string, error: unknown): Obstacle {
  return { reason: meaningOf(error), message: `pod ${pod.name}: ${subject}${describeFailure(error)}` };
}

/** Plans spec.release. It reads the history, which is long, only if it matters. */
async function planRelease(
  { client }: Access,
  { channel: { spec }, pod, token }: DaemonTask,
  status: ReleaseStatus,
  texts: Texts | null,
): Promise<PinPlan> {
  const isAsked = spec.release !== undefined && status[spec.channel]?.release_id !== spec.release;
  const history = isAsked ? await client.releases(pod.origin, token, spec.channel) : [];
  return planPin(spec, status, history, texts?.ok === true ? texts.value : null);
}

/** Does the next action of a plan. @returns the obstacle that keeps spec.release from being current, if there is one */
async function followPlan(
  access: Access,
  task: DaemonTask,
  plan: PinPlan,
  status: ReleaseStatus,
): Promise<{ readonly stalled?: Obstacle; readonly waiting?: Obstacle }> {
  if (plan.kind === 'stalled') return { stalled: plan.obstacle };
  if (plan.kind === 'waiting') return { waiting: plan.obstacle };
  const { channel, pod, token } = task;
  if (plan.kind !== 'act' || channel.spec.suspend) return {};
  const { release = '' } = channel.spec;
  // Repeated calls give the state of the first one's task. Another spec, request or official release tries again.
  const baseId = status.official?.release_id ?? null;
  const key = [channel.uid, channel.generation, channel.requestedAt, baseId, plan.action, release].join(':');
  const { status: state, task_id: taskId } = await act(access, task, plan, key);
  if (state === 'queued' || state === 'running' || state === 'cancelling') {
    const message = `${plan.action} of ${release} is ${state} (task ${taskId})`;
    return { waiting: { reason: 'ReleaseChanging', message } };
  }
  // A successful task shows in the report a moment later. If it does not, the release was changed again.
  const why = await access.client.taskFailure(pod.origin, token, taskId);
  const message = `${plan.action} of ${release} ${state} (task ${taskId}): ${why ?? 'the release is not current'}`;
  return { stalled: { reason: 'TaskFailed', message } };
}

/**
 * Brings the schedules of the daemon to the spec. It also removes those of objects that were deleted while no operator ran,
 * or that do not act for their channel.
 */
async function keepSchedules(access: Access, task: DaemonTask, holdSync: boolean): Promise<void> {
  const { channel, pod, token } = task;
  const desired = desiredSchedules(channel, holdSync);
  const reported = await access.client.schedules(pod.origin, token);
  const found = reported.filter(({ id }) => {
    const owner = scheduleOwner(id);
    if (owner?.namespace !== channel.namespace) return false;
    return owner.name === channel.name || !isActing(access.view, `${owner.namespace}/${owner.name}`);
  });
  for (const id of new Set([...desired, ...found].map((schedule) => schedule.id))) {
    const wanted = desired.find((schedule) => schedule.id === id);
    const actual = reported.find((schedule) => schedule.id === id) ?? null;
    for (const call of scheduleCalls(id, wanted, actual)) {
      try {
        await act(access, task, call, null);
      } catch (error) {
        // Another process was faster.
        if (!isRefusedAs(error, 'schedule_exists', 'unknown_schedule')) throw error;
      }
    }
  }
}

async function handleRequest(access: Access, task: DaemonTask): Promise<boolean> {
  const { channel, requestedAt } = task;
  if (requestedAt === null) return false;
  if (channel.spec.channel === 'official' && !channel.spec.suspend) {
    await act(access, task, { action: 'sync', body: {} }, `${channel.uid}:sync:${requestedAt}`);
  }
  return true;
}

function crashLoopOf({ pod }: DaemonTask, status: ReleaseStatus | null): Obstacle | null {
  const found = status?.crash_loop ?? null;
  return found === null ? null : { reason: 'DaemonCrashLoop', message: `pod ${pod.name}: ${found}` };
}
