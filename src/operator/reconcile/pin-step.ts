import type { ControlAction } from '../../contract/actions/actions.ts';
import type { ControlBody } from '../../contract/actions/control-body.ts';
import type { Accepted } from '../../contract/schemas/answers/admin.ts';
import type { ReleaseRow, ReleaseStatus, ServerClient, TranslationStatus } from '../pods/server-client.ts';
import type { Obstacle } from '../pods/server-pods.ts';
import { planPin, type PinPlan } from './pin.ts';
import type { ScheduleTarget } from './schedule-keeper.ts';

/** How daemons are asked and changed. */
export interface PinStepOptions {
  readonly client: Pick<ServerClient, 'releases' | 'taskFailure'>;
  /** Calls an action. @param key calls with an equal key start one task; `null` for an action that may be repeated */
  readonly act: (
    target: ScheduleTarget,
    call: { readonly action: ControlAction; readonly body: ControlBody },
    key: string | null,
  ) => Promise<Accepted>;
}

/** The obstacle that keeps spec.release from being current, if there is one. */
export interface PinOutcome {
  readonly stalled: Obstacle | null;
  readonly waiting: Obstacle | null;
}

/** The plan for spec.release on one daemon. */
export interface PinStep {
  /** Whether a sync would replace the pinned release. */
  readonly holdSync: boolean;
  /** Does the next action of the plan. */
  follow(): Promise<PinOutcome>;
}

const NOTHING: PinOutcome = { stalled: null, waiting: null };

/** Makes the function that plans spec.release for one daemon. It reads the history, which is long, only if it matters. */
export function createPinStep({
  client,
  act,
}: PinStepOptions): (
  target: ScheduleTarget,
  status: ReleaseStatus,
  texts: TranslationStatus | null,
) => Promise<PinStep> {
  const run = async (
    target: ScheduleTarget,
    plan: PinPlan & { readonly kind: 'act' },
    baseId: string | null,
  ): Promise<PinOutcome> => {
    const { channel, pod, token } = target;
    const release = channel.spec.release ?? '';
    // Repeated calls give the state of the first one's task. Another spec, request or official release tries again.
    const key = [channel.uid, channel.generation, channel.requestedAt, baseId, plan.action, release].join(
      ':',
    );
    const { status, task_id: taskId } = await act(target, plan, key);
    if (status === 'queued' || status === 'running' || status === 'cancelling') {
      const message = `${plan.action} of ${release} is ${status} (task ${taskId})`;
      return { stalled: null, waiting: { reason: 'ReleaseChanging', message } };
    }
    // A successful task shows in the report a moment later. If it does not, the release was changed again.
    const why = await client.taskFailure(pod.origin, token, taskId);
    const message = `${plan.action} of ${release} ${status} (task ${taskId}): ${why ?? 'the release is not current'}`;
    return { stalled: { reason: 'TaskFailed', message }, waiting: null };
  };

  return async (target, status, texts) => {
    const { spec } = target.channel;
    const isAsked = spec.release !== undefined && status[spec.channel]?.release_id !== spec.release;
    const history: readonly ReleaseRow[] = isAsked
      ? await client.releases(target.pod.origin, target.token, spec.channel)
      : [];
    const plan = planPin(spec, status, history, texts);
    return {
      holdSync: plan.kind === 'reached' || (plan.kind === 'stalled' && plan.holdSync),
      follow: async () => {
        if (plan.kind === 'stalled') return { stalled: plan.obstacle, waiting: null };
        if (plan.kind === 'waiting') return { stalled: null, waiting: plan.obstacle };
        if (plan.kind !== 'act' || spec.suspend) return NOTHING;
        return await run(target, plan, status.official?.release_id ?? null);
      },
    };
  };
}
