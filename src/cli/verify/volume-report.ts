import { instant } from '../../domain/instant.ts';
import type { Channel } from '../../domain/release/channel.ts';
import { textBytes } from '../../domain/text-bytes.ts';
import { textTable } from '../../platform/terminal/text-table.ts';
import { renderBase, type BaseReport } from './base-report.ts';

/** The findings for one release. */
export interface ReleaseReport {
  readonly channel: Channel;
  readonly release_id: string;
  readonly snapshot_id: string | null;
  readonly entries: number;
  /** Sum of the entry sizes. */
  readonly bytes: number;
  readonly damaged: number;
  readonly problems: readonly string[];
  readonly examples: readonly { readonly destination: string; readonly status: string }[];
  /** Only for a localized release whose manifest could be read. */
  readonly base: BaseReport | null;
}

/** The findings for the attestation. */
export interface AttestationReport {
  /** `not_checked` without keys, `none` when nothing was published yet. */
  readonly status: 'ok' | 'none' | 'invalid' | 'not_checked';
  readonly version: number | null;
  /** Unix seconds. An expired attestation does not count as damage of the volume. */
  readonly expires_at: number | null;
  readonly problems: readonly string[];
}

/** Everything that `slipway verify` found. */
export interface VolumeReport {
  readonly root: string;
  readonly store_id: string | null;
  /** `quick` when the bytes were not read. */
  readonly mode: 'full' | 'quick';
  readonly sound: boolean;
  /** Whether every localized release could be compared with its base. */
  readonly complete: boolean;
  readonly problems: readonly string[];
  readonly attestation: AttestationReport;
  readonly releases: readonly ReleaseReport[];
  /** Distinct objects of the releases, and what else lies in the store; `null` when only one release was checked. */
  readonly objects: {
    readonly referenced: number;
    /** Objects that no release names: what a cleanup would remove. */
    readonly orphans: number;
    readonly orphan_bytes: number;
    readonly orphan_manifests: number;
  } | null;
}

/** Whether nothing in a report is damage. */
export function isSound(
  problems: readonly string[],
  attestation: AttestationReport,
  releases: readonly ReleaseReport[],
): boolean {
  return problems.length === 0 && attestation.problems.length === 0 && releases.every(isReleaseSound);
}

function isReleaseSound(release: ReleaseReport): boolean {
  return stateOf(release) === 'ok';
}

/** `DIFFERS`: all bytes are as the manifest says, and the manifest is not as the base allows. */
function stateOf({ damaged, problems, base }: ReleaseReport): 'ok' | 'DAMAGED' | 'DIFFERS' {
  if (damaged > 0 || problems.length > 0) return 'DAMAGED';
  return base?.status === 'differs' ? 'DIFFERS' : 'ok';
}

/** Renders a report for people. */
export function renderVolumeReport(report: VolumeReport): string {
  const lines = [`store ${report.store_id ?? '(unknown)'} at ${report.root}, ${report.mode} check`, ''];
  const rows = report.releases.map((release) => [
    stateOf(release),
    release.channel,
    release.release_id,
    String(release.entries),
    textBytes(release.bytes),
    String(release.damaged),
  ]);
  lines.push(textTable(['STATE', 'CHANNEL', 'RELEASE', 'ENTRIES', 'SIZE', 'DAMAGED'], rows));
  for (const release of report.releases) lines.push(...renderFindings(release));
  const { attestation, objects } = report;
  lines.push(
    `attestation: ${attestation.status.replace('_', ' ')}${attestation.version === null ? '' : `, version ${attestation.version}`}${attestation.expires_at === null ? '' : `, expires ${instant(attestation.expires_at)}`}`,
    ...attestation.problems.map((problem) => `attestation: ${problem}`),
    ...report.problems,
  );
  if (objects !== null) {
    lines.push(
      `objects: ${objects.referenced} in use, ${objects.orphans} in no release (${textBytes(objects.orphan_bytes)}), ${objects.orphan_manifests} manifests without a release`,
    );
  }
  lines.push(renderConclusion(report));
  return `${lines.join('\n')}\n`;
}

function renderFindings(release: ReleaseReport): string[] {
  const name = `${release.channel} ${release.release_id}`;
  const more = release.damaged - release.examples.length;
  return [
    ...release.problems.map((problem) => `${name}: ${problem}`),
    ...release.examples.map(({ destination, status }) => `${name}: ${status} ${destination}`),
    ...(more > 0 ? [`${name}: and ${more} more`] : []),
    ...(release.base === null ? [] : renderBase(name, release.base)),
  ];
}

/**
 * What to do next. A repair fixes releases; it cannot fix a wrong key or a release that never existed, and no upstream has
 * patched files.
 */
function renderConclusion(report: VolumeReport): string {
  if (report.sound)
    return report.complete
      ? 'all releases intact'
      : 'intact as far as it could be checked: see NOT CHECKED above';
  const damaged = report.releases.filter((release) => stateOf(release) === 'DAMAGED');
  if (damaged.length === 0 && report.releases.some((release) => stateOf(release) === 'DIFFERS')) {
    return 'NOT SOUND: a localized release differs from its base, and "repair" does not change that; publish it again under a new id, or report it';
  }
  if (damaged.length === 0) return 'NOT SOUND: see the lines above';
  const publish = damaged.some(({ channel }) => channel === 'localized')
    ? '; if a localized release stays damaged, publish it again ("localized-publish"), that of a mirror at its origin'
    : '';
  return `DAMAGE FOUND: run the daemon's "repair"${publish}`;
}
