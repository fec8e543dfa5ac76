import type { Channel } from '../../../domain/release/channel.ts';
import { textBytes } from '../../../domain/text-bytes.ts';
import { printable, textTable } from '../../../platform/terminal/text-table.ts';

/** How many damaged files of a release are named. */
export const MIRROR_EXAMPLES_MAX = 20;

/** A file that is not served as its manifest says. */
export interface MirrorDamage {
  readonly destination: string;
  /** `unreachable`: there was no complete answer. */
  readonly status: 'missing' | 'size_mismatch' | 'digest_mismatch' | 'unreachable';
  readonly message: string;
}

/** The findings for one release. */
export interface MirroredRelease {
  readonly channel: Channel;
  readonly release_id: string;
  readonly snapshot_id: string;
  readonly entries: number;
  /** Sum of the entry sizes. */
  readonly bytes: number;
  /** Whether all files were read that were asked for; not when `--timeout` expired before. */
  readonly complete: boolean;
  readonly checked: number;
  readonly checked_bytes: number;
  readonly damaged: number;
  /** Why the mirror does not give the release now, which it says itself; `null` when it gives it. */
  readonly withheld: string | null;
  readonly problems: readonly string[];
  readonly examples: readonly MirrorDamage[];
}

/** The comparison with another Slipway. */
export interface MirrorComparison {
  readonly url: string;
  /** `not_checked` when the other one gave no attestation that can be believed. */
  readonly status: 'same' | 'differs' | 'not_checked';
  readonly problems: readonly string[];
}

/** All findings of `slipway verify --url`. */
export interface MirrorReport {
  readonly url: string;
  /** A running Slipway, or a static mirror of plain files; `null` when no attestation was accepted. */
  readonly kind: 'server' | 'files' | null;
  readonly mode: 'full' | 'sample';
  readonly sound: boolean;
  /** Whether everything that was asked for could be checked. */
  readonly complete: boolean;
  /** Whether `--timeout` expired before the end of the check. */
  readonly timed_out: boolean;
  readonly attestation: {
    /** `not_checked` when the mirror gave none: it does not answer, refuses to, or is another server. */
    readonly status: 'ok' | 'invalid' | 'not_checked';
    readonly version: number | null;
    /** Unix seconds. */
    readonly issued_at: number | null;
    /** Unix seconds. */
    readonly expires_at: number | null;
    readonly signed_by: readonly string[];
    readonly problems: readonly string[];
  };
  readonly releases: readonly MirroredRelease[];
  /** Channels in which the mirror serves nothing now, with the reason that the attestation gives. */
  readonly without_release: ReadonlyArray<{ readonly channel: Channel; readonly reason: string }>;
  readonly against: MirrorComparison | null;
  /** What a sound result does not show, and what would; empty when it is not sound. */
  readonly not_shown: readonly string[];
}

/** Whether nothing in a report is a fault of the mirror. */
export function isMirrorSound(
  attestation: MirrorReport['attestation'],
  releases: readonly MirroredRelease[],
  against: MirrorComparison | null,
): boolean {
  return (
    attestation.status === 'ok' &&
    releases.every(({ damaged, problems }) => damaged === 0 && problems.length === 0) &&
    against?.status !== 'differs'
  );
}

/** Renders a report for people. */
export function renderMirrorReport(report: MirrorReport): string {
  const { attestation, releases, against } = report;
  const rows = releases.map((release) => [
    stateOf(release),
    release.channel,
    release.release_id,
    String(release.entries),
    textBytes(release.bytes),
    String(release.checked),
    String(release.damaged),
  ]);
  const lines = [
    `${report.kind === 'files' ? 'static mirror' : 'mirror'} ${report.url}, ${report.mode} check`,
    `attestation: ${attestation.status.replace('_', ' ')}${attestation.version === null ? '' : `, version ${attestation.version}`}`,
    ...attestation.problems.map((problem) => `attestation: ${problem}`),
    ...(rows.length === 0
      ? []
      : [
          textTable(['STATE', 'CHANNEL', 'RELEASE', 'ENTRIES', 'SIZE', 'CHECKED', 'DAMAGED'], rows).trimEnd(),
        ]),
    ...releases.flatMap(renderFindings),
    ...report.without_release.map(({ channel, reason }) => `${channel}: no release (${reason})`),
    ...(against === null ? [] : [`against ${against.url}: ${against.status.replace('_', ' ')}`]),
    ...(against?.problems ?? []).map((problem) => `against ${against?.url ?? ''}: ${problem}`),
    ...report.not_shown.map((text) => `not shown: ${text}`),
    conclusion(report),
  ];
  return `${lines.map((line) => line.split('\n').map(printable).join('\n')).join('\n')}\n`;
}

function stateOf({ damaged, problems, withheld, complete }: MirroredRelease): string {
  if (damaged > 0 || problems.length > 0) return 'DAMAGED';
  if (withheld !== null) return 'WITHHELD';
  return complete ? 'ok' : 'PARTLY';
}

function renderFindings(release: MirroredRelease): string[] {
  const { channel, release_id: id, problems, withheld, examples, damaged } = release;
  const more = damaged - examples.length;
  return [
    ...(withheld === null ? [] : [`${channel} ${id}: ${withheld}`]),
    ...problems.map((problem) => `${channel} ${id}: ${problem}`),
    ...examples.map(
      ({ destination, status, message }) => `${channel} ${id}: ${status} ${destination}: ${message}`,
    ),
    ...(more > 0 ? [`${channel} ${id}: and ${more} more`] : []),
  ];
}

function conclusion({ sound, complete, timed_out: timedOut, attestation, releases }: MirrorReport): string {
  if (timedOut && attestation.status === 'not_checked')
    return 'COULD NOT BE CHECKED: --timeout expired before the mirror gave an attestation, so nothing is known of its files; check again with a longer --timeout';
  if (attestation.status === 'not_checked')
    return 'COULD NOT BE CHECKED: the mirror gave no attestation, so nothing is known of its files; fix the problem named above and check again';
  if (!sound)
    return `NOT SOUND: do not use this mirror; ${isOnlyUnsent(releases) ? 'no wrong byte came from it, but it did not send all; ' : ''}report the problems named above to its operator`;
  if (releases.length === 0)
    return 'COULD NOT BE CHECKED: the mirror serves no release now, for the reasons named above, so no file was read; check again when it does';
  if (timedOut)
    return 'COULD NOT BE CHECKED: --timeout expired before the end; the files that were read until then are sound: see CHECKED above; check again with a longer --timeout, or with --sample';
  if (releases.some(({ withheld }) => withheld !== null))
    return 'COULD NOT BE CHECKED: the mirror withholds a release now, as named above; its attestation is sound and no wrong byte came from it; check again later, or ask its operator (slipway verify DIR reads its disk)';
  return complete ? 'all releases intact' : 'intact as far as it could be checked: see above';
}

/** Whether everything that is wrong is that files were not sent: a Slipway whose disk is damaged sends no wrong byte. */
function isOnlyUnsent(releases: readonly MirroredRelease[]): boolean {
  return (
    releases.some(({ damaged }) => damaged > 0) &&
    releases.every(
      ({ damaged, problems, examples }) =>
        problems.length === 0 &&
        damaged === examples.length &&
        examples.every(({ status }) => status === 'unreachable'),
    )
  );
}
