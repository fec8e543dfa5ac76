import type { Channel } from '../release/channel.ts';
import type { DaemonCondition, DaemonConditionCode } from './daemon-conditions.ts';
import type { ServiceReason } from './service-reasons.ts';
import type { ServiceFacts } from './service-state.ts';

/** The reason that each condition gives when it is the cause; `null` for one that only explains another. */
const REASON_OF = {
  starting: 'DaemonStarting',
  database_damaged: 'DatabaseDamaged',
  work_database_unusable: 'WorkDatabaseUnusable',
  crash_loop: 'CrashLoop',
  volume_full: 'VolumeFull',
  volume_unwritable: 'VolumeUnwritable',
  data_volume_full: 'DataVolumeFull',
  clock_off: 'ClockOff',
  origin_not_followed: 'OriginNotFollowed',
  attestation_failing: 'AttestationFailing',
  syncing: 'Syncing',
  never_synced: 'NeverSynced',
  no_upstream: 'NoUpstream',
  sync_failed: 'SyncFailed',
  repairing: null,
  repair_failed: null,
  localized_mirrored: null,
  localized_stale: 'BaseReleaseChanged',
  localized_following: 'LocalizedFollowing',
  localized_unverified: 'LocalizedUnverified',
  localized_withdrawn: 'ReleaseWithdrawn',
  publishing_stopped: 'PublishingStopped',
} as const satisfies Record<DaemonConditionCode, ServiceReason | null>;

interface LastingCondition extends DaemonCondition {
  readonly reason: ServiceReason;
}

/** Conditions that last while the daemon is away: only its next publication, or its next configuration, ends them. */
export const OUTLASTING_CONDITIONS: ReadonlySet<DaemonConditionCode> = new Set([
  'localized_withdrawn',
  'localized_mirrored',
]);

/**
 * A condition that the daemon reports now. A daemon that does not answer reports nothing: its last conditions may be over, those of
 * {@link OUTLASTING_CONDITIONS} aside.
 *
 * @param channel leaves out conditions of the other channel
 * @returns `null` when it does not last, or when that is not known
 */
export function conditionOf(
  { conditions, daemon }: ServiceFacts,
  code: DaemonConditionCode,
  channel: Channel,
): DaemonCondition | null {
  if (daemon.failure !== null && !OUTLASTING_CONDITIONS.has(code)) return null;
  const isMeant = (condition: DaemonCondition): boolean =>
    condition.code === code && (condition.channel === undefined || condition.channel === channel);
  return conditions?.find(isMeant) ?? null;
}

/** Those of these conditions that last and concern the channel, in the order asked. */
export function lastingConditions(
  facts: ServiceFacts,
  codes: readonly DaemonConditionCode[],
  channel: Channel,
): readonly LastingCondition[] {
  return codes.flatMap((code) => {
    const [condition, reason] = [conditionOf(facts, code, channel), REASON_OF[code]];
    return condition === null || reason === null ? [] : [{ ...condition, reason }];
  });
}

/** Whether the releases of a channel are copied from an origin, so that nothing is published to it here. */
export function isMirrored(facts: ServiceFacts, channel: Channel): boolean {
  return conditionOf(facts, 'localized_mirrored', channel) !== null;
}
