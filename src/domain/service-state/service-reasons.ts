import { REASONS, type Reason } from '../verdict/reasons.ts';
import { WITH_RESUME } from './resume-argument.ts';

/** The actions of the daemon that can be a remedy. */
export const REMEDY_ACTIONS = [
  'sync',
  'verify',
  'repair',
  'refresh',
  'restart',
  'localized-publish',
  'release-cleanup',
] as const;

type RemedyAction = (typeof REMEDY_ACTIONS)[number];

export interface NextStep {
  readonly text: string;
  /** The control action that does it; `null` when a person must act elsewhere. */
  readonly action: RemedyAction | null;
}

/** Causes of a state beyond the reasons of a verdict, and what each means. */
export const SERVICE_REASONS = {
  ShuttingDown: 'The server is shutting down.',
  DaemonUnreachable: 'Nothing accepts the connections of the server to the daemon.',
  DaemonTimeout: 'The daemon accepts connections and does not answer in time.',
  DaemonStarting: 'The daemon recovers, or waits for its volume, and does no work yet.',
  RefreshFailing: 'The daemon answers, and its answers to the polls for an attestation cannot be used.',
  OriginNotFollowed:
    'This edge cannot follow its origin. It serves its releases for a limited time, and gets no new ones.',
  AttestationFailing: 'The daemon cannot issue attestations.',
  ClockOff:
    'The wall clock of the daemon is off: times that it recorded lie in the future, or the clock of the server differs.',
  DatabaseDamaged: 'The database of the daemon is damaged.',
  WorkDatabaseUnusable:
    'A database with work of people (translations, Translation Memory, Glossary) cannot be used.',
  CrashLoop: 'The daemon crashes repeatedly.',
  VolumeFull: 'The snapshot volume has too little free space.',
  VolumeUnwritable: 'The daemon cannot write to a volume, for example because it is mounted read-only.',
  DataVolumeFull: 'The volume of the data folder of the daemon has too little free space.',
  Syncing: 'The first sync runs.',
  NeverSynced: 'No official release was ever synced.',
  NoUpstream: 'There is no official release, and the daemon has no upstream to fetch one from.',
  SyncFailed: 'The last sync failed.',
  LocalizedFollowing:
    'A new official release is served, and the localized release of it is being made. This is not a failure.',
  LocalizedUnverified: 'The last full verification of the localized release is too old.',
  PublishingStopped: 'Automatic publishing of localized releases is stopped after a rollback.',
  ReleaseWithdrawn:
    'A rollback has withdrawn the localized channel, which somebody decided. This is not a failure.',
  NothingPublished: 'No localized release is published. This is not a failure.',
} as const;

/** The first cause of a state: a reason of a verdict, or one of {@link SERVICE_REASONS}. */
export type ServiceReason = Reason | keyof typeof SERVICE_REASONS;

/** All reasons of a state. */
export const SERVICE_REASON_NAMES = [
  ...Object.keys(REASONS),
  ...Object.keys(SERVICE_REASONS),
] as readonly string[] as readonly [ServiceReason, ...ServiceReason[]];

/** The remedy of each cause. */
export const REMEDIES: Readonly<Record<ServiceReason, NextStep>> = {
  // Each server begins with this reason, also when all is well.
  AttestationUnavailable: step(
    'Wait a moment after a start. If it lasts, check that the daemon runs, and run sync if it has no release.',
    'sync',
  ),
  AttestationInvalid: step(
    'Check the trusted keys of the server, and that it reads the volume of this daemon.',
  ),
  AttestationNotYetValid: step('Correct the clocks of the daemon and the server.'),
  AttestationExpired: step(
    'Read the check "attestation" of the doctor, fix what it names, then run refresh.',
    'refresh',
  ),
  AttestationRolledBack: step('Check whether the data of the daemon was restored from a backup or replaced.'),
  ReleaseNotAuthorized: step('Run verify; if the release is damaged, it says which files are.', 'verify'),
  SnapshotMissing: step(
    'Check the mount of the snapshot volume and the check "store.format" of the doctor, then run repair.',
    'repair',
  ),
  ManifestDamaged: step('Wait for the automatic repair, or run repair now.', 'repair'),
  SnapshotLoading: step('Wait; the release is served when it is read and checked.'),
  EntryMissing: step('Wait for the automatic repair, or run repair now.', 'repair'),
  EntryDamaged: step('Wait for the automatic repair, or run repair now.', 'repair'),
  BaseReleaseChanged: step(
    'The check "localized.automation" of the doctor says why none follows: translate more, fix the failed task, or publish a localized release for the current official one.',
    'localized-publish',
  ),
  ShuttingDown: step('Wait until the server has started again.'),
  DaemonUnreachable: step(
    'Start the daemon; if it exits again, read its log or that of its supervisor, which says why.',
  ),
  DaemonTimeout: step('Restart the daemon if it hangs.'),
  DaemonStarting: step('Wait; if it lasts, read the log of the daemon.'),
  RefreshFailing: step('Read the log of the server for the failed polls; check its token for the daemon.'),
  AttestationFailing: step(
    'Read the check "attestation" of the doctor, fix what it names, then run refresh.',
    'refresh',
  ),
  OriginNotFollowed: step(
    'Repair the origin or the connection to it; the check "upstream" of the doctor has the error. The edge follows at the next good poll.',
  ),
  ClockOff: step(
    'Correct the time service of the machines of the daemon and the server, then run verify. The check "clock" of the doctor names the time.',
    'verify',
  ),
  // The database records the action: its damage can refuse it.
  DatabaseDamaged: step(
    'Restart the daemon: it rebuilds its database from the volume. If the action fails, restart its process.',
    'restart',
  ),
  WorkDatabaseUnusable: step(
    'Read the checks "database." of the doctor; if a file is damaged or missing, stop the daemon, run "slipway restore --database NAME" with a backup for the file that they name, and start the daemon.',
  ),
  CrashLoop: step('Read the log of the daemon before its last end, and the check "process" of the doctor.'),
  VolumeFull: step('Run release-cleanup, or enlarge the snapshot volume.', 'release-cleanup'),
  // A cleanup frees space on the other volume.
  DataVolumeFull: step('Enlarge the volume of data.dir, or free space on it.'),
  VolumeUnwritable: step(
    'Read the checks "store.lease", "store.writable" and "data.writable" of the doctor, and mount the volume that they name so that the daemon can write to it.',
  ),
  Syncing: step('Wait for the end of the sync.'),
  NeverSynced: step('Run sync.', 'sync'),
  NoUpstream: step('Set upstream.kind in the configuration of the daemon, run reload, then run sync.'),
  SyncFailed: step('Correct the cause that the sync task names, then run sync.', 'sync'),
  LocalizedFollowing: step('Wait; the localized release is published without a request.'),
  LocalizedUnverified: step('Wait for the next verification, or run verify now.', 'verify'),
  PublishingStopped: step(
    `When the cause of the rollback is fixed, publish${WITH_RESUME}. If the rollback had no effect, roll back again first.`,
    'localized-publish',
  ),
  ReleaseWithdrawn: step(
    `Leave it, or publish${WITH_RESUME} to serve a localized release again.`,
    'localized-publish',
  ),
  NothingPublished: step('Publish a localized release when its translations are ready.', 'localized-publish'),
};

function step(text: string, action: RemedyAction | null = null): NextStep {
  return { text, action };
}
