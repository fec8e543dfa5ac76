import { LeadershipLost, type Leadership } from '../election/leadership.ts';
import { describeFailure, meaningOf } from '../pods/admin-refused.ts';
import type { ReleaseStatus, ServerClient } from '../pods/server-client.ts';
import type { Obstacle } from '../pods/server-pods.ts';
import type { Texts } from './localization-status.ts';
import { createPinStep, type PinStepOptions } from './pin-step.ts';
import { createScheduleKeeper, type ScheduleKeeperOptions, type ScheduleTarget } from './schedule-keeper.ts';
import { createTextsReader } from './texts-reader.ts';

/** The result for one daemon. */
export interface DaemonOutcome {
  /** Its release report; `null` when it did not answer. */
  readonly status: ReleaseStatus | null;
  /** Its report of translations, or why there is none; `null` when nobody asked. Only a localized channel has them. */
  readonly texts: Texts | null;
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
  const act: PinStepOptions['act'] = async ({ pod, token }, call, key) =>
    await leadership.act(
      async (signal) => await client.control(pod.origin, token, call.action, call.body, { key, signal }),
    );

  const keepSchedules = createScheduleKeeper({
    client,
    isActing,
    act: async (task, call) => await act(task, call, null),
  });

  const planRelease = createPinStep({ client, act });
  const readTexts = createTextsReader(client);

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
      const pin = await planRelease(task, status, texts?.ok === true ? texts.value : null);
      await keepSchedules(task, pin.holdSync);
      const { stalled, waiting } = await pin.follow();
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
