import type { ReleaseParts } from './release-parts.ts';
import { EnvelopeSchema } from '../contract/formats/attestation-format.ts';
import type { ReportBodyOf } from '../contract/reports/reports.ts';
import type { Channel } from '../domain/release/channel.ts';
import { FAILURE_EXAMPLES } from '../domain/verdict/attestation.ts';
import { manifestDigestOf } from '../domain/release/digest.ts';
import { defineReport, type DefinedReport } from '../engine/define-report.ts';
import type { UpstreamSource } from '../upstream/adapters/upstream-source.ts';
import type { ReleaseRepository } from './records/release-repository.ts';
import { integrityOf, type ReleaseRow } from './records/release-row.ts';
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
