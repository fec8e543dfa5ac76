import type { Channel } from '../release/channel.ts';
import type { SnapshotId } from '../release/digest.ts';
import type { ReleaseId } from '../release/release-id.ts';
import type { ServerDamageFinder } from './damage-kind.ts';
import type { Reason } from './reasons.ts';

export interface Fault {
  readonly reason: Reason;
  readonly message: string;
}

export interface CheckResult extends Partial<Fault> {
  readonly name: string;
  /** `null`: not evaluated, because an earlier check failed and left nothing to evaluate. */
  readonly ok: boolean | null;
}

export interface Verdict {
  readonly channel: Channel;
  readonly distributable: boolean;
  /** `null` exactly when distributable. */
  readonly reason: Reason | null;
  readonly message: string;
  /** Unix milliseconds since which the channel has been in this state (distributable, reason, release). */
  readonly since: number;
  readonly release_id: ReleaseId | null;
  readonly snapshot_id: SnapshotId | null;
  readonly attestation: {
    readonly version: number;
    readonly issued_at: number;
    readonly expires_at: number;
  } | null;
  readonly checks: readonly CheckResult[];
  /** The finder of the damage; only when the reason is damage that this server found. */
  readonly found_by?: ServerDamageFinder | undefined;
}

/** Whether two verdicts on a channel say the same, whatever their wording. */
export function isSameOutcome(left: Verdict | null, right: Verdict | null): boolean {
  return (
    left?.distributable === right?.distributable &&
    left?.reason === right?.reason &&
    left?.release_id === right?.release_id
  );
}
