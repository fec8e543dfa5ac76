import type { ReleaseParts } from './release-parts.ts';
import { EnvelopeSchema } from '../contract/formats/attestation-format.ts';
import type { ReportBodyOf } from '../contract/reports/reports.ts';
import type { Channel } from '../domain/release/channel.ts';
import { FAILURE_EXAMPLES } from '../domain/verdict/attestation.ts';
import { manifestDigestOf } from '../domain/release/digest.ts';
import { defineReport, type DefinedReport } from '../engine/define-report.ts';
import type { UpstreamSource } from '../upstream/adapters/upstream-source.ts';
import { RELEASES_MAX, type ReleaseRepository } from './records/release-repository.ts';
import type { ReleaseRow } from './records/release-row.ts';
import type { SyncState } from './sync/sync-state.ts';
import { stepBackOf } from './mirror/origin-state.ts';
import { describeTrouble, type OriginTrouble } from './mirror/origin-trouble.ts';
import { unixSeconds } from '../platform/process/clock.ts';
import { isStale } from './records/retention-rules.ts';

const LIST_MAX = 500;
const DAMAGED_MAX = 100;

type StatusReport = ReportBodyOf<'release.status'>;
type ListReport = ReportBodyOf<'release.list'>;

interface ReportSources {
  readonly upstream: UpstreamSource;
  readonly syncState: () => SyncState;
  readonly originTrouble: () => OriginTrouble | null;
  readonly crashLoop: () => string | null;
}

/** The reports `release.status` and `release.list`. Times are Unix seconds. */
export function releaseReports(parts: ReleaseParts, sources: ReportSources): readonly DefinedReport[] {
  return [
    defineReport('release.status', () => statusReport(parts, sources)),
    defineReport('release.list', ({ channel = null }) => listReport(parts.releases, channel)),
  ];
}

function statusReport(
  { releases, attestor, clock }: ReleaseParts,
  { upstream, syncState, originTrouble, crashLoop }: ReportSources,
): StatusReport {
  const official = releases.current('official');
  const localized = releases.current('localized');
  const statement = attestor.attested();
  return {
    official: official === null ? null : currentRelease(releases, official),
    localized: localized === null ? null : currentRelease(releases, localized),
    relation: relationOf(official, localized),
    attestation:
      statement === null
        ? null
        : {
            version: statement.version,
            issued_at: statement.issued_at,
            expires_at: statement.expires_at,
            key_ids: keyIdsOf(attestor.current()?.envelope),
            authorizes: {
              official: authorized(statement.official),
              localized: authorized(statement.localized),
              retained: statement.retained.map((release) => release.release_id),
            },
          },
    announced: announcedOf(releases, 'official'),
    announced_localized: announcedOf(releases, 'localized'),
    sync: syncState().report,
    upstream: upstreamOf(upstream),
    ...originOf(upstream, releases, originTrouble(), unixSeconds(clock)),
    crash_loop: crashLoop(),
  };
}

function announcedOf(releases: ReleaseRepository, channel: Channel): StatusReport['announced'] {
  const announced = releases.announcedOf(channel);
  return announced === null ? null : { release_id: announced.release_id, current_at: announced.current_at };
}

function upstreamOf(source: UpstreamSource): StatusReport['upstream'] {
  const connected = source.current();
  return connected === null ? null : { kind: connected.adapter.kind, label: connected.adapter.label };
}

/** @param now Unix seconds */
function originOf(
  source: UpstreamSource,
  releases: ReleaseRepository,
  trouble: OriginTrouble | null,
  now: number,
): Pick<StatusReport, 'origin'> {
  const attested = source.current()?.attested;
  if (attested === undefined) return {};
  const notFollowed =
    trouble === null
      ? null
      : {
          since: trouble.since,
          code: trouble.code,
          message: describeTrouble(trouble, now),
          served_until: trouble.servedUntil,
        };
  return { origin: { not_followed: notFollowed, went_back: stepBackOf(attested, releases) } };
}

function keyIdsOf(envelope: Buffer | undefined): readonly string[] {
  if (envelope === undefined) return [];
  const { signatures } = EnvelopeSchema.parse(JSON.parse(envelope.toString('utf8')));
  return signatures.flatMap(({ keyid }) => (keyid === undefined ? [] : [keyid]));
}

function authorized(release: { readonly release_id: string; readonly result: string } | null): string | null {
  return release?.result === 'PASSED' ? release.release_id : null;
}

function relationOf(official: ReleaseRow | null, localized: ReleaseRow | null): StatusReport['relation'] {
  if (official === null) return localized === null ? 'none' : 'no_official';
  if (localized === null) return 'no_localized';
  return isStale(localized, official.release_id) ? 'stale' : 'in_sync';
}

function currentRelease(releases: ReleaseRepository, release: ReleaseRow): StatusReport['official'] {
  if (release.snapshot_id === null) return null;
  const damaged = releases.damageOf(release.channel, release.release_id, DAMAGED_MAX);
  return {
    release_id: release.release_id,
    snapshot_id: release.snapshot_id,
    state: release.state,
    ...(release.base_release_id === null ? {} : { base_release_id: release.base_release_id }),
    integrity: integrityOf(release),
    verified_at: release.verified_at,
    damaged: damaged.map((entry) => entry.destination),
    damaged_count: releases.damageCounts(release.channel, release.release_id).all,
  };
}

function integrityOf(release: ReleaseRow): 'ok' | 'damaged' | 'unverified' {
  if (release.state === 'damaged') return 'damaged';
  return release.verified_at === null ? 'unverified' : 'ok';
}

function listReport(releases: ReleaseRepository, channel: Channel | null): ListReport {
  const listed = releases.list(channel, LIST_MAX);
  const officialId = releases.pointer('official')?.release_id ?? null;
  return {
    total: releases.count(channel),
    releases: listed.map((release) => ({
      release_id: release.release_id,
      channel: release.channel,
      state: release.state,
      created_at: release.created_at,
      published_at: release.published_at,
      ...(release.base_release_id === null
        ? {}
        : { base_release_id: release.base_release_id, stale: isStale(release, officialId) }),
      manifest: manifestOf(release),
      artifact_integrity: {
        checked_at: release.checked_at,
        ok: integrityOf(release) === 'ok' && release.state !== 'deleted',
        damaged: releases.damageCounts(release.channel, release.release_id).all,
        damaged_examples: releases
          .damageOf(release.channel, release.release_id, FAILURE_EXAMPLES)
          .map(({ destination }) => destination),
      },
    })),
  };
}

function manifestOf(release: ReleaseRow): ListReport['releases'][number]['manifest'] {
  const blake3 = release.snapshot_id === null ? null : manifestDigestOf(release.snapshot_id);
  if (blake3 === null) return null;
  return { blake3, entry_count: release.entry_count, total_bytes: release.total_bytes };
}

const HISTORY_MAX = 20;

type StatusBody = ReportBodyOf<'translation.status'>;

/** Finds the rollback that took a localized release back; `null` when none did, or when it is current again. */
type FindRollback = (
  releaseId: string,
) => ReportBodyOf<'translation.status'>['history'][number]['rolled_back'];

/** The current localized release, and the latest ones that were or are current. */
export function localizedStatusOf(
  releases: ReleaseRepository,
  rollbackOf: FindRollback,
): { readonly current: StatusBody['current']; readonly history: StatusBody['history'] } {
  const current = releases.current('localized');
  const officialId = releases.pointer('official')?.release_id ?? null;
  return {
    current:
      current === null || current.snapshot_id === null || current.base_release_id === null
        ? null
        : {
            localized_release_id: current.release_id,
            base_release_id: current.base_release_id,
            snapshot_id: current.snapshot_id,
            state: current.state,
            integrity: integrityOf(current),
            published_at: current.published_at,
            stale: isStale(current, officialId),
          },
    history: historyOf(releases, rollbackOf),
  };
}

function historyOf(releases: ReleaseRepository, rollbackOf: FindRollback) {
  const published = releases
    .list('localized', RELEASES_MAX)
    .flatMap((release) =>
      release.published_at === null ? [] : [{ ...release, published_at: release.published_at }],
    );
  // A rollback makes an older release the latest again. The sort is stable: of the same second the newer release is first.
  return published
    .toSorted((one, other) => other.published_at - one.published_at)
    .slice(0, HISTORY_MAX)
    .map(({ release_id, base_release_id, state, published_at }) => ({
      localized_release_id: release_id,
      base_release_id,
      state,
      at: published_at,
      rolled_back: rollbackOf(release_id),
    }));
}
