/**
 * Why a release is not distributable. One catalogue for probe bodies, problem bodies, metric labels, log lines,
 * ReleaseChannel conditions, events and the console. The text says what it means and what to do.
 */
export const REASONS = {
  AttestationUnavailable:
    'No attestation has been received from the daemon since this server started. Check that the daemon runs and that it has synced a release.',
  AttestationInvalid:
    'The attestation is malformed, not signed by a trusted key, or for another store. Check the trusted keys and the volume.',
  AttestationNotYetValid:
    'The attestation is dated in the future. Check the clocks of the daemon and the server.',
  AttestationExpired:
    'The last accepted attestation has expired and the daemon issued no newer one. Check the daemon and its doctor report.',
  AttestationRolledBack:
    'The daemon presented an attestation older than one already accepted. Check whether its data was restored from a backup.',
  ReleaseNotAuthorized:
    'The attestation authorizes no release of this channel. Sync or publish one, or repair the one that was withdrawn.',
  SnapshotMissing:
    'The manifest of the authorized release is not on the snapshot volume. Check the mount; the daemon writes a lost manifest again.',
  ManifestDamaged:
    'The manifest of the authorized release does not have the attested digest. The daemon writes it again; if that fails, its doctor report says why.',
  SnapshotLoading:
    'The authorized release is being read and checked. Wait; it becomes distributable when complete.',
  EntryMissing:
    'At least one entry of the release has no usable object on the volume: it is missing, has another size or cannot be read. The daemon repairs it; if that fails, its doctor report says why.',
  EntryDamaged:
    'At least one entry of the release has bytes that do not match the manifest. The daemon repairs it; if that fails, its doctor report says why.',
  BaseReleaseChanged:
    'The localized release was made for an official release other than the current one. Publish a localized release for the current one.',
} as const;

export type Reason = keyof typeof REASONS;
