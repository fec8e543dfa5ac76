import { instant } from '../instant.ts';
import type { Channel } from '../release/channel.ts';
import { countText } from '../count-text.ts';
import {
  CLOCK_SKEW_SECONDS,
  type AttestationStatement,
  type AttestedRelease,
  type ReleaseFailure,
  type StaleRelease,
} from './attestation.ts';
import { highestVersion, type EntryTrouble } from './evidence.ts';
import { isManifestOf, retainedUntil, type ReleaseEvidence } from './release-evidence.ts';
import type { Fault } from './verdict.ts';

/** One small pure rule. It finds that all is well, a fault, or nothing (`null`) when it has nothing to check. */
interface Check {
  readonly name: string;
  readonly run: (found: ReleaseEvidence, nowMs: number) => true | Fault | null;
}

/** The check chain of the verdict, in the order in which a failure decides. */
export const CHECKS: readonly Check[] = [
  {
    name: 'attestation-accepted',
    run: ({ statement, evidence: { rejection } }) => {
      if (statement !== null) return true;
      if (rejection !== null) return { reason: rejection.reason, message: rejection.message };
      return {
        reason: 'AttestationUnavailable',
        message: 'no attestation has been received from the daemon yet',
      };
    },
  },
  {
    name: 'attestation-newest',
    run: ({ evidence }) => {
      if (evidence.newest === null) return null;
      // An older attestation in effect while the releases of the newest are read is not a roll-back.
      const { version } = evidence.newest.statement;
      const highest = highestVersion(evidence);
      if (version >= highest) return true;
      return {
        reason: 'AttestationRolledBack',
        message: `attestation version ${version} is older than version ${highest}, accepted before`,
      };
    },
  },
  {
    name: 'attestation-begun',
    run: ({ statement }, nowMs) => {
      if (statement === null) return null;
      if (statement.issued_at * 1000 <= nowMs + CLOCK_SKEW_SECONDS * 1000) return true;
      return {
        reason: 'AttestationNotYetValid',
        message: `the attestation is dated ${instant(statement.issued_at)}, in the future`,
      };
    },
  },
  {
    name: 'attestation-unexpired',
    run: ({ statement, evidence: { rejection } }, nowMs) => {
      if (statement === null) return null;
      if (statement.expires_at * 1000 > nowMs) return true;
      const rejected = rejection === null ? '' : `; the newest one was refused: ${rejection.message}`;
      return {
        reason: 'AttestationExpired',
        message: `the attestation expired at ${instant(statement.expires_at)}${rejected}`,
      };
    },
  },
  {
    name: 'release-authorized',
    run: ({ statement, named, subject }) => {
      if (statement === null) return null;
      if (named !== null) return true;
      const stale = staleRelease(statement, subject);
      if (stale !== null) return baseChanged(stale, statement);
      return {
        reason: 'ReleaseNotAuthorized',
        message:
          subject.release === undefined
            ? `the attestation authorizes no ${subject.channel} release`
            : `release ${subject.release.release_id} is no longer authorized`,
      };
    },
  },
  {
    name: 'verification-passed',
    run: ({ named, subject }) => {
      if (named === null) return null;
      return named.result === 'PASSED' ? true : withdrawnBy(subject.channel, named);
    },
  },
  {
    name: 'retention-running',
    run: ({ authorized }, nowMs) => {
      if (authorized === null) return null;
      const until = retainedUntil(authorized);
      if (until === null || until * 1000 > nowMs) return true;
      return {
        reason: 'ReleaseNotAuthorized',
        message: `release ${authorized.release_id} was retained until ${instant(until)}`,
      };
    },
  },
  {
    name: 'base-release-current',
    run: ({ authorized, statement, subject }) => {
      if (authorized === null) return null;
      // A retained release is one of the past, and so is its base.
      if (subject.channel !== 'localized' || retainedUntil(authorized) !== null) return true;
      const official = statement?.official ?? null;
      if (official?.result === 'PASSED' && authorized.base_release_id === official.release_id) return true;
      if (official === null || authorized.base_release_id !== official.release_id)
        return baseChanged(authorized, statement);
      // The base is the same and damaged: a publication would not fix that.
      return withdrawnBy('official', official);
    },
  },
  {
    name: 'snapshot-bound',
    run: ({ authorized, snapshot, evidence: { volume } }) => {
      if (authorized === null) return null;
      if (!volume.ok) return { reason: 'SnapshotMissing', message: volume.message };
      if (snapshot === null) {
        return {
          reason: 'SnapshotLoading',
          message: `release ${authorized.release_id} is being read and checked`,
        };
      }
      if (snapshot.manifest === 'missing') return { reason: 'SnapshotMissing', message: snapshot.message };
      return true;
    },
  },
  {
    name: 'manifest-intact',
    run: ({ authorized, snapshot, subject }) => {
      if (authorized === null || snapshot === null || snapshot.manifest === 'missing') return null;
      if (snapshot.manifest !== 'ok') return { reason: 'ManifestDamaged', message: snapshot.message };
      if (!isManifestOf(snapshot, subject, authorized)) {
        return {
          reason: 'ManifestDamaged',
          message: `the manifest is of ${snapshot.channel} release ${snapshot.release_id}, the attestation names ${subject.channel} release ${authorized.release_id}`,
        };
      }
      if (snapshot.entryCount === authorized.entry_count) return true;
      return {
        reason: 'ManifestDamaged',
        message: `the manifest has ${countText(snapshot.entryCount, 'entry', 'entries')}, the attestation says ${authorized.entry_count}`,
      };
    },
  },
  {
    name: 'entries-present',
    run: ({ trouble }) => {
      if (trouble === null) return null;
      if (trouble.missing.count === 0) return true;
      return { reason: 'EntryMissing', message: `no usable object for ${describeEntries(trouble.missing)}` };
    },
  },
  {
    name: 'entries-undamaged',
    run: ({ trouble }) => {
      if (trouble === null) return null;
      if (trouble.damaged.count === 0) return true;
      return {
        reason: 'EntryDamaged',
        message: `bytes do not match the manifest for ${describeEntries(trouble.damaged)}`,
      };
    },
  },
];

/** The current localized release, when the statement leaves it out because of its base. */
function staleRelease(
  { stale_localized: stale }: AttestationStatement,
  { channel, release }: ReleaseEvidence['subject'],
): StaleRelease | null {
  return channel === 'localized' && release === undefined ? stale : null;
}

function baseChanged(
  localized: AttestedRelease | StaleRelease,
  statement: AttestationStatement | null,
): Fault {
  return {
    reason: 'BaseReleaseChanged',
    message: `localized release ${localized.release_id} was made for ${localized.base_release_id ?? 'no release'}, the current official release is ${statement?.official?.release_id ?? 'none'}`,
  };
}

function withdrawnBy(channel: Channel, { release_id: id, failure }: AttestedRelease): Fault {
  const withdrawn = `the attestation withdraws ${channel} release ${id}`;
  return failure === undefined
    ? { reason: 'ReleaseNotAuthorized', message: `${withdrawn}: its last verification failed` }
    : { reason: failure.reason, message: `${withdrawn}: ${describeFailure(failure)}` };
}

function describeFailure({ reason, entry_count, missing_count, examples }: ReleaseFailure): string {
  switch (reason) {
    case 'SnapshotMissing':
      return 'the daemon finds no manifest';
    case 'ManifestDamaged':
      return 'the daemon found the manifest damaged';
    case 'EntryMissing':
      return `the daemon finds no usable object for ${describeEntries({ count: entry_count, examples })}`;
    case 'EntryDamaged':
      if (missing_count !== undefined) {
        return `the daemon found ${missing_count} missing and ${entry_count - missing_count} damaged of ${describeEntries({ count: entry_count, examples })}`;
      }
      return `the daemon found bytes that do not match the manifest for ${describeEntries({ count: entry_count, examples })}`;
  }
}

function describeEntries(trouble: EntryTrouble): string {
  const more = trouble.count - trouble.examples.length;
  return `${trouble.count} ${trouble.count === 1 ? 'entry' : 'entries'}: ${trouble.examples.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
