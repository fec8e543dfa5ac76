import type { ChannelReason, ConditionType } from '../../contract/crd/channel-reasons.ts';
import { CONDITION_TYPES, LOCALIZED_CONDITION_TYPES } from '../../contract/crd/channel-reasons.ts';
import { MESSAGE_MAX, type ChannelCondition } from '../../contract/crd/release-channel.ts';
import { instant } from '../../domain/instant.ts';
import type { Channel } from '../../domain/release/channel.ts';
import { describeState } from '../../domain/service-state/describe-state.ts';
import type { ServiceReason } from '../../domain/service-state/service-reasons.ts';
import { countText } from '../../domain/count-text.ts';
import { describeGaps } from '../kubernetes/channel-definition.ts';
import type { PodHealth } from '../pods/pod-health.ts';
import type { Obstacle } from '../pods/server-pods.ts';
import { localizedConditions, type Texts } from './localization-status.ts';
import type { RestingChannel } from './resting-channel.ts';
import { channelState, healthyCondition, type Finding } from './service-condition.ts';
import { stageOutcome, type Stage } from './stages.ts';

/** The input of the conditions. */
export interface Findings {
  readonly channel: Channel;
  readonly suspended: boolean;
  readonly wanted: string | null;
  /** Why there is nothing to serve and nobody asks for it; `null` otherwise. */
  readonly resting: RestingChannel | null;
  readonly unknownPods: Obstacle | null;
  /** The pods that stay. */
  readonly pods: readonly PodHealth[];
  /** Pods that shut down and still answer; asked only while no other pod is ready. */
  readonly draining: readonly PodHealth[];
  readonly stalled: Obstacle | null;
  readonly waiting: Obstacle | null;
  readonly crashLoop: Obstacle | null;
  /** The translations, or why they are not known; `null` when no daemon was asked, as for the official channel. */
  readonly texts: Texts | null;
  /** What the definition in the cluster lacks of the status; `null` while that is not known. */
  readonly gaps: readonly string[] | null;
}

/** Reasons why spec.release is not current yet. */
const UNREACHED: ReadonlySet<ChannelReason> = new Set(['ReleaseChanging', 'TextsNotReady']);

/**
 * The conditions of an object. A condition whose status stays the same keeps its transition time.
 *
 * @param nowMs the one instant of this evaluation, Unix milliseconds
 */
export function conditionsOf(
  findings: Findings,
  generation: number,
  previous: readonly ChannelCondition[],
  nowMs: number,
): ChannelCondition[] {
  const ready = readyOf(findings);
  const reconciling = previous.find(({ type }) => type === 'Reconciling');
  const found: Record<keyof typeof CONDITION_TYPES, Finding> = {
    // A definition that knows no StatusComplete has at least this condition.
    Ready: hasGaps(findings)
      ? { ...ready, message: `${ready.message}; ${statusComplete(findings).message}` }
      : ready,
    Reconciling: reconcilingOf(findings, ready, reconciling),
    Stalled:
      findings.stalled === null
        ? no('NotStalled', 'nothing waits for a person')
        : { status: 'True', ...findings.stalled },
    Attested: stageOf(findings, 'Attested'),
    SnapshotBound: stageOf(findings, 'SnapshotBound'),
    Represented: stageOf(findings, 'Represented'),
    Serving: servingOf(findings),
    Healthy: healthyCondition(findings.pods, findings.channel),
    StatusComplete: statusComplete(findings),
  };
  const localized = findings.channel === 'localized' ? localizedConditions(textsOf(findings)) : {};
  const all: Partial<Record<ConditionType, Finding>> = { ...found, ...localized };
  const now = instant(nowMs / 1000);
  const types = Object.keys({ ...CONDITION_TYPES, ...LOCALIZED_CONDITION_TYPES }) as ConditionType[];
  return types.flatMap((type) => {
    const finding = all[type];
    if (finding === undefined) return [];
    const { status, reason, message } = finding;
    const before = previous.find((condition) => condition.type === type);
    return {
      type,
      status,
      reason,
      message: message.slice(0, MESSAGE_MAX),
      lastTransitionTime: before?.status === status ? before.lastTransitionTime : now,
      observedGeneration: generation,
    };
  });
}

function hasGaps({ gaps }: Findings): boolean {
  return gaps !== null && gaps.length > 0;
}

function statusComplete({ gaps }: Findings): Finding {
  if (gaps === null) {
    const message = 'the API server does not tell the schema of ReleaseChannel';
    return { status: 'Unknown', reason: 'DefinitionUnknown', message };
  }
  if (gaps.length === 0) return yes('EveryFieldWritten', 'the definition in the cluster takes every field');
  return no('DefinitionLacksFields', describeGaps(gaps));
}

/** When no daemon could be asked, the reason is that of the whole object. */
function textsOf({ texts, stalled, waiting, unknownPods }: Findings): Texts {
  const obstacle = stalled ?? unknownPods ?? waiting;
  const nobody = { reason: 'NoPods', message: 'no daemon was asked' } as const;
  return texts ?? { ok: false, error: obstacle ?? nobody };
}

interface PodOutcome {
  readonly serving: 'True' | 'False' | 'Unknown';
  readonly reason: ServiceReason | ChannelReason;
  readonly message: string;
}

/**
 * Whether the clients of the Service get the channel from one pod, and if not, or if it is unknown, why. A verdict says
 * more than a pod that is not ready, which may be its effect.
 */
export function podVerdict(pod: PodHealth, channel: Channel): PodOutcome {
  const verdict = pod.health?.verdicts[channel];
  const silence = pod.failure ?? 'it has not answered yet';
  if (verdict !== undefined && verdict.reason !== null) {
    const state = channelState(pod, channel);
    if (state === null || state.reason === null) {
      return { serving: 'False', reason: verdict.reason, message: verdict.message };
    }
    return { serving: 'False', reason: state.reason, message: describeState(state) };
  }
  if (pod.endpoint === 'unready') {
    const cause = verdict === undefined ? `: ${silence}` : '';
    const message = `it is not ready, so the Service sends it no requests${cause}`;
    return { serving: 'False', reason: 'EndpointNotReady', message };
  }
  if (verdict === undefined) return { serving: 'Unknown', reason: 'PodUnreachable', message: silence };
  return { serving: 'True', reason: 'Serving', message: verdict.message };
}

function readyOf(findings: Findings): Finding {
  const { channel, pods, stalled } = findings;
  if (stalled !== null) return no(stalled.reason, stalled.message);
  if (findings.resting !== null) return { status: 'Unknown', ...findings.resting };
  if (pods.length === 0) return noPods(findings, 'False');
  const verdicts = pods.map((pod) => ({ pod, ...podVerdict(pod, channel) }));
  const refusing = verdicts.filter((each) => each.serving === 'False');
  const [worst] = refusing;
  if (worst !== undefined) return no(worst.reason, told(worst.pod.name, worst.message, refusing.length));
  const silent = verdicts.filter((each) => each.serving === 'Unknown');
  const [first] = silent;
  if (first !== undefined) {
    const message = told(first.pod.name, first.message, silent.length);
    return { status: silent.length === pods.length ? 'Unknown' : 'False', reason: first.reason, message };
  }
  const releases = new Set(pods.map((pod) => pod.health?.verdicts[channel].release_id));
  if (releases.size > 1) {
    return no(
      'PodsDiffer',
      `the pods serve ${releases.size} different releases: ${[...releases].join(', ')}`,
    );
  }
  const { waiting, wanted, suspended } = findings;
  if (waiting !== null && UNREACHED.has(waiting.reason)) return no(waiting.reason, waiting.message);
  // The daemon switches first, and the pods follow its attestation. A daemon that does not answer does not excuse them.
  const [served] = releases;
  if (!suspended && wanted !== null && served !== wanted) {
    return no(
      'ReleaseChanging',
      `the pods still serve ${served ?? 'nothing'}, and spec.release is ${wanted}`,
    );
  }
  return yes('Distributable', pods[0]?.health?.verdicts[channel].message ?? '');
}

function reconcilingOf(findings: Findings, ready: Finding, previous: Finding | undefined): Finding {
  const { suspended, resting, stalled, waiting, crashLoop } = findings;
  if (suspended) return no('Suspended', 'spec.suspend is set');
  if (waiting?.reason !== 'ReleaseChanging') {
    if (crashLoop !== null) return yes(crashLoop.reason, crashLoop.message);
    // A daemon in a crash loop cannot answer most of the time; the reason stays until a daemon answers.
    if (waiting !== null && previous?.reason === 'DaemonCrashLoop')
      return yes(previous.reason, previous.message);
  }
  if (waiting !== null) return yes(waiting.reason, waiting.message);
  if (resting !== null && stalled === null) return no(resting.reason, resting.message);
  if (stalled === null && ready.status !== 'True') return yes(ready.reason, ready.message);
  return no('UpToDate', stalled === null ? 'nothing is left to do' : 'nothing can be done');
}

function stageOf(findings: Findings, stage: Stage): Finding {
  const { channel, pods } = findings;
  if (findings.resting !== null) return { status: 'Unknown', ...findings.resting };
  if (pods.length === 0) return noPods(findings, 'Unknown');
  const fresh = pods.flatMap((pod) => {
    const verdict = pod.health?.verdicts[channel];
    return verdict === undefined ? [] : [{ pod, verdict, outcome: stageOutcome(verdict.reason, stage) }];
  });
  const failed = fresh.filter(({ outcome }) => outcome === 'failed');
  const [worst] = failed;
  if (worst !== undefined) {
    return no(worst.verdict.reason ?? '', told(worst.pod.name, worst.verdict.message, failed.length));
  }
  const passed = fresh.filter(({ outcome }) => outcome === 'passed').length;
  if (passed > 0) return yes('Passed', `${passed} of ${pods.length} pods`);
  const [undecided] = fresh;
  if (undecided !== undefined) {
    const { pod, verdict } = undecided;
    return { status: 'Unknown', reason: verdict.reason ?? '', message: told(pod.name, verdict.message, 1) };
  }
  return unreachable(pods);
}

/**
 * Whether a client of the Service gets the channel. Requests go to ready pods, and to pods that shut down while there is no ready one.
 *
 * Source: Kubernetes documentation, "Virtual IPs and Service Proxies", traffic to terminating endpoints.
 */
function servingOf(findings: Findings): Finding {
  const { channel, pods, draining } = findings;
  if (findings.resting !== null) return { status: 'Unknown', ...findings.resting };
  if (pods.length + draining.length === 0) return noPods(findings, 'False');
  const ready = pods.filter(({ endpoint }) => endpoint === 'ready');
  const reached = ready.length > 0 ? ready : draining;
  const verdicts = (reached.length > 0 ? reached : pods).map((pod) => ({ pod, ...podVerdict(pod, channel) }));
  const serving = verdicts.filter((each) => each.serving === 'True').length;
  if (serving > 0) {
    return yes(
      'Serving',
      ready.length > 0
        ? `${serving} of ${pods.length} pods`
        : countText(serving, 'pod, which shuts down', 'pods, all of which shut down'),
    );
  }
  const refusing = verdicts.find((each) => each.serving === 'False');
  return refusing === undefined
    ? unreachable(reached)
    : no(refusing.reason, told(refusing.pod.name, refusing.message, verdicts.length));
}

/** @param status of the condition when the Service is known and has no pods */
function noPods({ unknownPods }: Findings, status: 'False' | 'Unknown'): Finding {
  if (unknownPods !== null) return { status: 'Unknown', ...unknownPods };
  return { status, reason: 'NoPods', message: 'no pod stands behind the Service' };
}

function unreachable(pods: readonly PodHealth[]): Finding {
  const [first] = pods;
  const message = told(first?.name ?? '', first?.failure ?? 'it has not answered yet', pods.length);
  return { status: 'Unknown', reason: 'PodUnreachable', message };
}

/** @param count how many pods report the same */
function told(pod: string, message: string, count: number): string {
  return `pod ${pod}: ${message}${count > 1 ? ` (and ${count - 1} more)` : ''}`;
}

function yes(reason: string, message: string): Finding {
  return { status: 'True', reason, message };
}

function no(reason: string, message: string): Finding {
  return { status: 'False', reason, message };
}
