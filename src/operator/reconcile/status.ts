import {
  HISTORY_MAX,
  MESSAGE_MAX,
  type PodVerdict,
  type ReleaseChannelStatus,
} from '../../contract/crd/release-channel.ts';
import type { ReadHealth } from '../../contract/schemas/answers/health.ts';
import type { Channel } from '../../domain/release/channel.ts';
import type { PodHealth } from '../pods/pod-health.ts';
import type { ReleaseRow, ReleaseStatus } from '../pods/server-client.ts';
import { conditionsOf, podVerdict, type Findings } from './conditions.ts';
import { edgesRow } from './edges-status.ts';
import { localizationRow } from './localization-status.ts';
import type { ObservedEdges } from './observer.ts';
import { syncRow, timestamp } from './sync-status.ts';

export interface StatusInput {
  readonly generation: number;
  readonly findings: Findings;
  readonly daemons: readonly ReleaseStatus[];
  /** Releases of the channel, newest first; `null` when they are not known. */
  readonly history: readonly ReleaseRow[] | null;
  /** The edges of the origin; `null` when it has none. */
  readonly edges: ObservedEdges | null;
  readonly handledRequest: string | null;
  readonly previous: ReleaseChannelStatus | null;
  readonly nowMs: number;
}

type CurrentRelease = NonNullable<ReleaseChannelStatus['release']>;

/** Builds the whole status of an object. Fields without new evidence keep their last value. */
export function statusOf(input: StatusInput): ReleaseChannelStatus {
  const { generation, findings, previous } = input;
  const { pods } = findings;
  const release = releaseOf(input);
  // Only official releases come from upstream.
  const sync = findings.channel === 'official' ? (syncRow(input.daemons) ?? previous?.sync) : undefined;
  const localization =
    findings.texts?.ok === true ? localizationRow(findings.texts.value) : previous?.localization;
  const handled = input.handledRequest ?? previous?.lastHandledReconcileAt;
  const history = input.history === null ? (previous?.history ?? []) : historyRows(input.history);
  const serving = pods.filter((pod) => podVerdict(pod, findings.channel).serving === 'True');
  return {
    observedGeneration: generation,
    conditions: conditionsOf(findings, generation, previous?.conditions ?? [], input.nowMs),
    ...(release === undefined ? {} : { release }),
    ...(sync === undefined ? {} : { sync }),
    ...(localization === undefined ? {} : { localization }),
    servingPods: `${serving.length}/${pods.length}`,
    pods: pods.map((pod) => podRow(pod, findings)),
    ...(input.edges === null
      ? {}
      : {
          edges: edgesRow(
            input.edges,
            findings.channel,
            release?.id,
            history.map(({ id }) => id),
          ),
        }),
    history,
    ...(handled === undefined ? {} : { lastHandledReconcileAt: handled }),
  };
}

/** The current release, from the pods and a daemon; `undefined` when there is none. */
function releaseOf({ findings, daemons, previous }: StatusInput): ReleaseChannelStatus['release'] {
  const { channel, pods } = findings;
  const speaker =
    pods.find((pod) => pod.health?.verdicts[channel].distributable === true) ??
    pods.find((pod) => typeof pod.health?.verdicts[channel].release_id === 'string');
  const [daemon] = daemons;
  const reported = daemon?.[channel] ?? null;
  const id = speaker?.health?.verdicts[channel].release_id ?? reported?.release_id;
  if (id === undefined) {
    // Without any answer the last value stays; the conditions show how fresh it is.
    const isSilent = pods.every((pod) => pod.health === null) && daemon === undefined;
    return isSilent ? previous?.release : undefined;
  }
  return {
    ...(previous?.release?.id === id ? previous.release : {}),
    id,
    ...(reported?.release_id === id ? integrityOf(reported) : {}),
    ...attestationOf(speaker?.health ?? null, channel),
  };
}

function integrityOf(reported: NonNullable<ReleaseStatus['official']>): Partial<CurrentRelease> {
  const verifiedAt = timestamp(reported.verified_at);
  return { snapshotId: reported.snapshot_id, ...(verifiedAt === undefined ? {} : { verifiedAt }) };
}

function attestationOf(health: ReadHealth | null, channel: Channel): Partial<CurrentRelease> {
  if (health === null) return {};
  const since = timestamp(health.verdicts[channel].since);
  const attestationExpiresAt = timestamp(health.attestation?.expires_at);
  return {
    ...(since === undefined ? {} : { since }),
    ...(health.attestation === null || attestationExpiresAt === undefined
      ? {}
      : { attestationVersion: health.attestation.version, attestationExpiresAt }),
  };
}

function podRow(pod: PodHealth, { channel }: Findings): PodVerdict {
  const outcome = podVerdict(pod, channel);
  const verdict = pod.health?.verdicts[channel];
  const release = verdict?.release_id ?? undefined;
  const since = timestamp(verdict?.since);
  return {
    name: pod.name,
    serving: outcome.serving,
    ...(outcome.serving === 'True'
      ? {}
      : { reason: outcome.reason, message: outcome.message.slice(0, MESSAGE_MAX) }),
    ...(release === undefined ? {} : { release }),
    ...(since === undefined ? {} : { since }),
  };
}

function historyRows(rows: readonly ReleaseRow[]): ReleaseChannelStatus['history'] {
  return rows.slice(0, HISTORY_MAX).map((row) => {
    const publishedAt = timestamp(row.published_at);
    const checkedAt = timestamp(row.artifact_integrity.checked_at);
    return {
      id: row.release_id,
      state: row.state,
      createdAt: timestamp(row.created_at) ?? '',
      ...(publishedAt === undefined ? {} : { publishedAt }),
      ...(checkedAt === undefined ? {} : { checkedAt }),
      damaged: row.artifact_integrity.damaged,
    };
  });
}
