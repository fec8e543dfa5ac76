import type { ControlAction } from '../../contract/actions/actions.ts';
import type { ControlBody } from '../../contract/actions/control-body.ts';
import type { Accepted } from '../../contract/schemas/answers/admin.ts';
import { failure, success, type Result } from '../../domain/result.ts';
import type { ClusterView } from '../channels/cluster-view.ts';
import { LeadershipLost, type Leadership } from '../election/leadership.ts';
import type { ReleaseChannel } from '../kubernetes/objects.ts';
import { describeFailure, isRefusedAs, meaningOf } from '../pods/admin-refused.ts';
import type { PodHealth } from '../pods/pod-health.ts';
import type { AdminToken, ReleaseStatus, ServerClient, TaskState } from '../pods/server-client.ts';
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
  /** Whether a task that the annotation or spec.release asked for still runs; `null` when the daemon did not tell. */
  readonly isRunning: boolean | null;
  /** Why the pod does not serve the current release of its daemon yet; `null` when it does. */
  readonly behind: 'other release' | 'loading' | null;
}

/** Ids of the tasks that this process started, by pod and key. Without one, the call is repeated and gives the same task. */
export type StartedTasks = Map<string, string>;

/** Tasks that are remembered. */
const MOST_STARTED = 1000;

interface Access {
  readonly client: ServerClient;
  readonly leadership: Leadership;
  readonly view: ClusterView;
  readonly started: StartedTasks;
}

interface DaemonTask {
  readonly channel: ReleaseChannel;
  readonly pod: PodHealth;
  readonly token: AdminToken;
  /** Value of the annotation that is not handled yet, or `null`; it is left for later while the object is suspended. */
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
    // First, so that the reports below have its result.
    const request = await followRequest(access, task);
    status = await access.client.releaseStatus(task.pod.origin, task.token);
    texts = await readTexts(access, task);
    const plan = await planRelease(access, task, status, texts);
    await keepSchedules(access, task, plan.kind === 'reached' || (plan.kind === 'stalled' && plan.holdSync));
    const {
      stalled = null,
      waiting = null,
      isRunning = false,
    } = await followPlan(access, task, plan, status);
    if (!request.ok) throw request.error;
    const running = runningRequest(task, request.value);
    return {
      status,
      texts,
      stalled,
      waiting: waiting ?? running,
      crashLoop: crashLoopOf(task, status),
      isRunning: isRunning || running !== null,
      behind: behindOf(task, status),
    };
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
      isRunning: null,
      behind: null,
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

/** Starts a task once, and says how it stands. It is asked for when it is known, so that it is not posted again and again. */
async function startTask(
  access: Access,
  task: DaemonTask,
  call: { readonly action: ControlAction; readonly body: ControlBody },
  key: string,
): Promise<TaskState> {
  const { client, started } = access;
  const { origin } = task.pod;
  const place = placeOf(task, key);
  const known = started.get(place);
  if (known !== undefined) {
    try {
      return await client.task(origin, task.token, known);
    } catch (error) {
      if (!isRefusedAs(error, 'unknown_task')) throw error;
    }
  }
  const { task_id: id, status } = await act(access, task, call, key);
  if (started.size >= MOST_STARTED) started.clear();
  started.set(place, id);
  // A repeated call gives the status of the first one's task, and not why it failed.
  return status === 'failed' ? await client.task(origin, task.token, id) : { id, status, failure: null };
}

function placeOf({ pod }: DaemonTask, key: string): string {
  return `${pod.origin} ${key}`;
}

function stillRuns({ status }: TaskState): boolean {
  return status === 'queued' || status === 'running' || status === 'cancelling';
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
): Promise<{ readonly stalled?: Obstacle; readonly waiting?: Obstacle; readonly isRunning?: boolean }> {
  if (plan.kind === 'stalled') return { stalled: plan.obstacle };
  if (plan.kind === 'waiting') return { waiting: plan.obstacle };
  const { channel } = task;
  if (plan.kind !== 'act' || channel.spec.suspend) return {};
  const { release = '' } = channel.spec;
  // Repeated calls give the state of the first one's task. Another spec, request or official release tries again.
  const baseId = status.official?.release_id ?? null;
  const key = [channel.uid, channel.generation, channel.requestedAt, baseId, plan.action, release].join(':');
  const started = await startTask(access, task, plan, key);
  const what = `${plan.action} of ${release}`;
  const isRunning = stillRuns(started);
  if (isRunning || (started.status === 'succeeded' && (await isReached(access, task)))) {
    const message = `${what} ${isRunning ? 'is ' : ''}${started.status} (task ${started.id})`;
    return { waiting: { reason: 'ReleaseChanging', message }, isRunning: true };
  }
  // So that the call is made again: the daemon starts another task when it has forgotten the key.
  access.started.delete(placeOf(task, key));
  const why = started.failure ?? 'the release is not current';
  const message = `${what} ${started.status} (task ${started.id}): ${why}`;
  return { stalled: { reason: 'TaskFailed', message } };
}

/** Whether spec.release is current or announced by now. The report that the plan was made from may be older than the end of its task. */
async function isReached(
  { client }: Access,
  { channel: { spec }, pod, token }: DaemonTask,
): Promise<boolean> {
  const { localized, announced_localized: announced } = await client.releaseStatus(pod.origin, token);
  return [localized?.release_id, announced?.release_id].includes(spec.release);
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

/**
 * Starts the sync that the annotation asks for. A refusal is a value: the reports are read nevertheless.
 *
 * @returns the state of the sync; `null` when nothing is asked for
 * @throws LeadershipLost
 */
async function followRequest(access: Access, task: DaemonTask): Promise<Result<TaskState | null, unknown>> {
  const { channel, requestedAt } = task;
  if (requestedAt === null || channel.spec.channel !== 'official') return success(null);
  const key = `${channel.uid}:sync:${requestedAt}`;
  try {
    return success(await startTask(access, task, { action: 'sync', body: {} }, key));
  } catch (error) {
    if (error instanceof LeadershipLost) throw error;
    return failure(error);
  }
}

function runningRequest({ pod }: DaemonTask, asked: TaskState | null): Obstacle | null {
  if (asked === null || !stillRuns(asked)) return null;
  const message = `pod ${pod.name}: the requested sync is ${asked.status} (task ${asked.id})`;
  return { reason: 'RequestInProgress', message };
}

/** The server follows its daemon a moment later; the health is older than the report. */
function behindOf({ channel: { spec }, pod }: DaemonTask, status: ReleaseStatus): DaemonOutcome['behind'] {
  const verdict = pod.health?.verdicts[spec.channel];
  const current = status[spec.channel]?.release_id;
  if (verdict === undefined || current === undefined) return null;
  if (verdict.reason === 'SnapshotLoading') return 'loading';
  return verdict.release_id === current ? null : 'other release';
}

function crashLoopOf({ pod }: DaemonTask, status: ReleaseStatus | null): Obstacle | null {
  const found = status?.crash_loop ?? null;
  return found === null ? null : { reason: 'DaemonCrashLoop', message: `pod ${pod.name}: ${found}` };
}
