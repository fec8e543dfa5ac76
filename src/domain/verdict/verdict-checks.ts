import { CLOCK_SKEW_SECONDS } from './attestation.ts';
import { authorizedRelease, type Check, type EntryTrouble } from './verdict.ts';

/** The check chain of the verdict, in the order in which a failure decides. */
export const CHECKS: readonly Check[] = [
  {
    name: 'attestation-accepted',
    run: ({ attestation }) => {
      if (attestation.accepted !== null) return null;
      if (attestation.rejection !== null) {
        return { reason: attestation.rejection.reason, message: attestation.rejection.message };
      }
      return {
        reason: 'AttestationUnavailable',
        message: 'no attestation has been received from the daemon yet',
      };
    },
  },
  {
    name: 'attestation-newest',
    run: ({ attestation }) => {
      const version = attestation.accepted?.statement.version ?? attestation.highestVersion;
      if (version >= attestation.highestVersion) return null;
      return {
        reason: 'AttestationRolledBack',
        message: `attestation version ${version} is older than version ${attestation.highestVersion}, accepted before`,
      };
    },
  },
  {
    name: 'attestation-begun',
    run: ({ attestation }, nowMs) => {
      const issuedAt = attestation.accepted?.statement.issued_at;
      if (issuedAt === undefined || issuedAt * 1000 <= nowMs + CLOCK_SKEW_SECONDS * 1000) return null;
      return {
        reason: 'AttestationNotYetValid',
        message: `the attestation is dated ${instant(issuedAt)}, in the future`,
      };
    },
  },
  {
    name: 'attestation-unexpired',
    run: ({ attestation }, nowMs) => {
      const expiresAt = attestation.accepted?.statement.expires_at;
      if (expiresAt === undefined || expiresAt * 1000 > nowMs) return null;
      const rejected =
        attestation.rejection === null
          ? ''
          : `; the newest one was refused: ${attestation.rejection.message}`;
      return {
        reason: 'AttestationExpired',
        message: `the attestation expired at ${instant(expiresAt)}${rejected}`,
      };
    },
  },
  {
    name: 'release-authorized',
    run: (evidence) => {
      const statement = evidence.attestation.accepted?.statement;
      if (statement === undefined || authorizedRelease(evidence) !== null) return null;
      const failed = statement[evidence.channel];
      return {
        reason: 'ReleaseNotAuthorized',
        message:
          failed === null
            ? `the attestation authorizes no ${evidence.channel} release`
            : `the attestation withdraws ${evidence.channel} release ${failed.release_id}: its last verification failed`,
      };
    },
  },
  {
    name: 'base-release-current',
    run: (evidence) => {
      if (evidence.channel !== 'localized') return null;
      const release = authorizedRelease(evidence);
      const official = evidence.attestation.accepted?.statement.official;
      if (
        release === null ||
        (official?.result === 'PASSED' && release.base_release_id === official.release_id)
      )
        return null;
      return {
        reason: 'BaseReleaseChanged',
        message: `localized release ${release.release_id} was made for ${release.base_release_id ?? 'no release'}, the current official release is ${official?.release_id ?? 'none'}`,
      };
    },
  },
  {
    name: 'snapshot-bound',
    run: (evidence) => {
      const release = authorizedRelease(evidence);
      if (release === null) return null;
      const { snapshot } = evidence;
      if (
        snapshot === null ||
        snapshot.snapshot_id !== release.snapshot_id ||
        snapshot.manifest === 'loading'
      ) {
        return {
          reason: 'SnapshotLoading',
          message: `release ${release.release_id} is being read and checked`,
        };
      }
      if (snapshot.manifest === 'missing')
        return { reason: 'SnapshotMissing', message: snapshot.manifestMessage };
      return null;
    },
  },
  {
    name: 'manifest-intact',
    run: (evidence) => {
      const release = authorizedRelease(evidence);
      const { snapshot } = evidence;
      if (release === null || snapshot?.snapshot_id !== release.snapshot_id) return null;
      if (snapshot.manifest === 'damaged')
        return { reason: 'ManifestDamaged', message: snapshot.manifestMessage };
      if (snapshot.manifest === 'ok' && snapshot.entryCount !== release.entry_count) {
        return {
          reason: 'ManifestDamaged',
          message: `the manifest has ${snapshot.entryCount} entries, the attestation says ${release.entry_count}`,
        };
      }
      return null;
    },
  },
  {
    name: 'entries-present',
    run: ({ snapshot }) =>
      snapshot === null || snapshot.missing.count === 0
        ? null
        : { reason: 'EntryMissing', message: `no usable object for ${describe(snapshot.missing)}` },
  },
  {
    name: 'entries-undamaged',
    run: ({ snapshot }) =>
      snapshot === null || snapshot.damaged.count === 0
        ? null
        : {
            reason: 'EntryDamaged',
            message: `bytes do not match the manifest for ${describe(snapshot.damaged)}`,
          },
  },
];

function describe(trouble: EntryTrouble): string {
  const more = trouble.count - trouble.examples.length;
  return `${trouble.count} ${trouble.count === 1 ? 'entry' : 'entries'}: ${trouble.examples.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function instant(unixSeconds: number): string {
  return new Date(unixSeconds * 1000).toISOString();
}
