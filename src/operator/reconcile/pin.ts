import { instant } from '../../domain/instant.ts';
import type { ControlAction } from '../../contract/actions/actions.ts';
import type { ControlBody } from '../../contract/actions/control-body.ts';
import type { ReleaseChannelSpec } from '../../contract/crd/release-channel.ts';
import type { ReleaseRow, ReleaseStatus, TranslationStatus } from '../pods/server-client.ts';
import type { Obstacle } from '../pods/server-pods.ts';

export type PinPlan =
  | { readonly kind: 'none' }
  | { readonly kind: 'reached' }
  | { readonly kind: 'act'; readonly action: ControlAction; readonly body: ControlBody }
  /** It can be made current later. */
  | { readonly kind: 'waiting'; readonly obstacle: Obstacle }
  /** Only a person can help. */
  | { readonly kind: 'stalled'; readonly obstacle: Obstacle; readonly holdSync: boolean };

const REASON = 'spec.release of a ReleaseChannel';

const USABLE: ReadonlySet<ReleaseRow['state']> = new Set([
  'verified',
  'superseded',
  'rolled_back',
  'current',
]);

/** Blockers that end automatically or at the origin; a publication fails until then. */
const PASSING_BLOCKERS: ReadonlySet<string> = new Set(['no_official_release', 'tasks_not_built']);

/** The blocker of a channel whose releases are copied from an origin. */
export const MIRRORED = 'channel_mirrored';

/** The blocker of a channel that a rollback has withdrawn. A publication that does not resume it fails. */
export const WITHDRAWN = 'release_rolled_back';

/**
 * Plans `spec.release` on one daemon.
 *
 * - A known localized release becomes current by localized-rollback.
 * - An unknown one is published under that id, as soon as the texts of the official release are ready.
 * - While the channel is withdrawn, or the units of a rolled-back release are on hold, only a person can resume it.
 * - A localized release of an earlier official one cannot become current again, nor can any release of a copied channel.
 * - An official release that is not current cannot become current by an action.
 *
 * @param texts the report of the translations, or `null` when it is not known
 */
export function planPin(
  { channel, release }: ReleaseChannelSpec,
  status: ReleaseStatus,
  history: readonly ReleaseRow[],
  texts: TranslationStatus | null,
): PinPlan {
  if (release === undefined) return { kind: 'none' };
  const announced = channel === 'official' ? status.announced : status.announced_localized;
  if (announced?.release_id === release) {
    const at = instant(announced.current_at);
    const message = `${release} is announced and becomes current at ${at}`;
    return { kind: 'waiting', obstacle: { reason: 'ReleaseChanging', message } };
  }
  const known = history.find((row) => row.release_id === release && row.state !== 'deleted');
  if (channel === 'localized') return planLocalized(release, status, known, texts);
  return status.official?.release_id === release
    ? { kind: 'reached' }
    : planOfficial(release, known !== undefined);
}

function planLocalized(
  release: string,
  { official, localized, relation }: ReleaseStatus,
  known: ReleaseRow | undefined,
  texts: TranslationStatus | null,
): PinPlan {
  const isCurrent = localized?.release_id === release;
  if (isCurrent && relation !== 'stale') return { kind: 'reached' };
  const mirrored = texts?.publish_blockers.find(({ code }) => code === MIRRORED);
  if (mirrored !== undefined) return stalled('ChannelMirrored', mirrored.message);
  const base = isCurrent ? localized.base_release_id : known?.base_release_id;
  if (isCurrent || (base !== undefined && official !== null && base !== official.release_id)) {
    return stalled(
      'PinOutdated',
      `localized release ${release} was made for ${base ?? 'an earlier release'}, and ${official?.release_id ?? 'none'} is the current official one`,
    );
  }
  if (known !== undefined && !USABLE.has(known.state)) {
    return stalled(
      'ActionRejected',
      `localized release ${release} is ${known.state} and cannot be made current`,
    );
  }
  const body = { localized_release_id: release, reviewer: 'slipway-operator', reason: REASON };
  // A rollback needs a release that it takes back.
  if (known !== undefined && localized !== null) return { kind: 'act', action: 'localized-rollback', body };
  return planPublication(body, localized === null, texts);
}

function planPublication(
  body: { readonly localized_release_id: string; readonly reviewer: string; readonly reason: string },
  isNoneCurrent: boolean,
  texts: TranslationStatus | null,
): PinPlan {
  const { localized_release_id: release } = body;
  if (isNoneCurrent && texts !== null && isTakenBack(release, texts)) {
    return stalled(
      'ReleaseRolledBack',
      `localized release ${release} was rolled back, and its units are on hold, so a publication would not have its texts; review the units on hold, then publish with args=resume=true`,
    );
  }
  const withdrawn = texts?.publish_blockers.find(({ code }) => code === WITHDRAWN);
  if (withdrawn !== undefined) return stalled('ReleaseRolledBack', withdrawn.message);
  const passing = texts?.publish_blockers.find(({ code }) => PASSING_BLOCKERS.has(code));
  if (passing !== undefined) {
    return { kind: 'waiting', obstacle: { reason: 'TextsNotReady', message: passing.message } };
  }
  return { kind: 'act', action: 'localized-publish', body: { from_worker: true, ...body } };
}

/** Whether a publication cannot have the texts of a release, because a rollback has put them on hold. */
function isTakenBack(release: string, { history, publish_blockers: blockers }: TranslationStatus): boolean {
  const isRolledBack = history.some(
    (row) => row.localized_release_id === release && row.rolled_back !== null,
  );
  return isRolledBack && blockers.some(({ code }) => code === 'on_hold');
}

function stalled(reason: Obstacle['reason'], message: string): PinPlan {
  return { kind: 'stalled', obstacle: { reason, message }, holdSync: false };
}

function planOfficial(release: string, isKnown: boolean): PinPlan {
  // Syncing continues for a release that upstream may still publish, and pauses for one that was replaced.
  const obstacle: Obstacle = isKnown
    ? {
        reason: 'PinNotSupported',
        message: `official release ${release} is not the current one, and no action makes it current again`,
      }
    : { reason: 'ReleaseUnknown', message: `no official release "${release}" is known to the daemon` };
  return { kind: 'stalled', obstacle, holdSync: isKnown };
}
