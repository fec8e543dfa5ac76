import type { SigningKey } from '../../attestation/keys.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import type { Failpoints } from '../../platform/files/failpoints.ts';
import type { HashPool } from '../../platform/hashing/digests.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { SnapshotWriter } from '../../snapshot/snapshot-writer.ts';
import type { AttestationSource } from '../api/attestation-source.ts';
import type { DamageIntake } from '../api/damage-intake.ts';
import type { DefinedAction } from '../api/define-action.ts';
import type { DefinedReport } from '../api/define-report.ts';
import type { ReleaseEvents } from '../events/release-events.ts';
import type { Job } from '../tasks/job.ts';
import type { TaskEngine } from '../tasks/task-engine.ts';
import type { ConnectedUpstream, UpstreamSource } from '../upstream/adapters/upstream-source.ts';
import { createAttestationRepository } from './records/attestation-repository.ts';
import { createAttestor, type Attestor } from './attest/attestor.ts';
import { queueVerification } from './checks/queue-verification.ts';
import { recoverReleases } from './recovery/boot-recovery.ts';
import { findLostStore, FORMAT_RESTORED } from './recovery/lost-format.ts';
import { requireStore } from './checks/require-store.ts';
import { createCatalogRefreshTask } from './catalog/catalog-refresh-task.ts';
import { createCatalogStore, type CatalogStore } from './catalog/catalog-store.ts';
import type { CleanupLimits } from './cleanup/cleanup-request.ts';
import { createCleanupTask } from './cleanup/cleanup-task.ts';
import { createStorageMeter, type StorageMeter } from './cleanup/storage-use.ts';
import { createDamageAttestation } from './checks/damage-attestation.ts';
import { createWithdrawalRecheck } from './checks/withdrawal-recheck.ts';
import { createStoreWatch } from './checks/store-watch.ts';
import { createStoredObjectInspector } from './checks/stored-object-inspector.ts';
import { createReleaseDamage, type ReleaseDamage } from './checks/release-damage.ts';
import { createReportedDamage } from './checks/reported-damage.ts';
import { createReleaseDiagnostics, type ReleaseDiagnostics } from './checks/diagnostics.ts';
import { createObjectRegistry, type ObjectRegistry } from './records/object-registry.ts';
import { createOriginRepository } from './records/origin-repository.ts';
import { createProbeRepository } from './records/probe-repository.ts';
import { createAnnouncedSwitch } from './publish/announced-switch.ts';
import { createEarlySwitchTask } from './publish/early-switch-task.ts';
import { createPublisher, type Publisher } from './publish/publish.ts';
import { afterRecovery, createRecoveryRun, type RecoveryRun } from './recovery/recovery-run.ts';
import { createRefreshTask } from './checks/refresh-task.ts';
import { createReleaseCheck } from './checks/release-check.ts';
import { createReleaseRepository, type ReleaseRepository } from './records/release-repository.ts';
import { createAutomaticRepair } from './repair/automatic-repair.ts';
import { createDamageRepairTask } from './repair/damage-repair-task.ts';
import { createRepairAttempts, type RepairAttempts } from './records/repair-attempts.ts';
import { createRepairTask } from './repair/repair-task.ts';
import { createReleaseActions } from './release-actions.ts';
import { createReleaseReports } from './reports.ts';
import { describeMirrored } from './mirror/mirrored-channel.ts';
import { createMirrorTask } from './mirror/mirror-task.ts';
import { createOriginFollower, type OriginFollower } from './mirror/origin-follower.ts';
import { originLimits, originMakesCurrent } from './mirror/origin-limits.ts';
import { tryToStore } from '../database/store-when-possible.ts';
import type { SqlDatabase } from './records/sql.ts';
import { SYNC_JOB } from './jobs/release-jobs.ts';
import { createFirstSyncRetry } from './sync/first-sync-retry.ts';
import { syncStateOf, type SyncState } from './sync/sync-state.ts';
import { createSyncTask } from './sync/sync-task.ts';
import { releaseTaskError } from './jobs/task-errors.ts';
import { createVerifyTask } from './checks/verify-task.ts';

/** The settings of releases. */
export interface ReleasesConfiguration {
  /** Validity of an attestation, in seconds; it is renewed after a third of that time. */
  readonly attestationTtlSeconds: number;
  /** Seconds after which the last full verification of a current release no longer supports an attestation. */
  readonly maxVerifyAgeSeconds: number;
  /** Age of the last full verification, in seconds, from which a current release is verified again at boot. */
  readonly verifyAtBootAfterSeconds: number;
  readonly retention: {
    /** Number of superseded releases of a channel that stay attested, however old they are. */
    readonly retained: number;
    /** Seconds for which every superseded release stays attested. */
    readonly maxAgeSeconds: number;
    /** Number of releases of a channel that a cleanup keeps. */
    readonly keep: number;
    /** Seconds for which an unreferenced object is kept. */
    readonly graceSeconds: number;
  };
  /** Number of entries fetched concurrently. */
  readonly downloadConcurrency: number;
  /** Number of objects hashed concurrently. */
  readonly verifyConcurrency: number;
  /** Bytes that a sync leaves free on the volume. */
  readonly reserveBytes: number;
  /** Seconds between the announcement of a release and its switch; 0: releases are not announced. */
  readonly announceSeconds: number;
  /** Seconds from the decision to switch early to the switch. */
  readonly switchLeadSeconds: number;
  /** Whether known damage is repaired without a request. */
  readonly automaticRepair: boolean;
}

export interface ReleasesOptions {
  readonly database: SqlDatabase;
  /** Root of the snapshot volume to which `writer` writes. */
  readonly root: string;
  readonly writer: SnapshotWriter;
  readonly pool: HashPool;
  readonly upstream: UpstreamSource;
  readonly engine: TaskEngine;
  readonly events: Pick<ReleaseEvents, 'append'>;
  readonly clock: Clock;
  /** In [0, 1); for the jitter of repairs and retries. */
  readonly random: () => number;
  readonly logger: Logger;
  /** The keys that sign now; they can change while the daemon runs. */
  readonly signingKeys: () => readonly SigningKey[];
  /** The settings that apply now; they can change while the daemon runs. */
  readonly configuration: () => ReleasesConfiguration;
  /** When a sync that is not queued yet is planned, Unix seconds; `null` when none is. */
  readonly plannedSyncAt: () => number | null;
  /** Describes the crash loop that the daemon is in; `null` when it is in none. */
  readonly crashLoop: () => string | null;
  readonly failpoints: Failpoints;
  readonly bootId: string;
  readonly version: string;
  /** Whether a daemon with another database wrote to the volume before this one. */
  readonly otherWriter: boolean;
  /** Called once, when the recovery has succeeded. */
  readonly onRecovered: () => void;
  /** Called after releases have become damaged that were sound, or sound again. */
  readonly onSoundnessChanged: () => void;
}

/** The release functions of the daemon. */
export interface Releases {
  readonly jobs: readonly Job[];
  readonly reports: readonly DefinedReport[];
  readonly actions: readonly DefinedAction[];
  readonly attestation: AttestationSource;
  /** Accepts the damage that servers report. */
  readonly damageIntake: DamageIntake;
  /** Source of releases for other parts: the localized channel, the parse index. */
  readonly repository: ReleaseRepository;
  readonly catalogs: CatalogStore;
  readonly objects: ObjectRegistry;
  readonly publisher: Publisher;
  readonly attestor: Attestor;
  readonly diagnostics: ReleaseDiagnostics;
  /**
   * Looks at the manifests and objects of the releases, for the diagnostics; takes at most `withinMs` milliseconds.
   *
   * @param maxAgeMs a look that ended at most this long ago is enough, milliseconds
   */
  lookAtStore(withinMs: number, maxAgeMs: number): Promise<void>;
  readonly syncState: () => SyncState;
  /** Says that the localized channel is copied from an origin, and why it has no release; `null` where it is made here. */
  readonly mirroredLocalized: () => string | null;
  /** The use of the snapshot volume. */
  readonly storage: StorageMeter;
  /** The damage found since the start. */
  readonly damage: Pick<ReleaseDamage, 'found'>;
  /** The attempts to repair damage. */
  readonly attempts: Pick<RepairAttempts, 'lastFailureOf' | 'nextAtMs'>;
  /**
   * Recovers, attests the releases found, and starts the renewal. Before that, nothing is attested and no task of these
   * jobs runs. The jobs must be registered; the engine may already run. Resolves after the first attempt: when the
   * volume cannot be used yet, the error is logged and the recovery is retried until `stop`.
   */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Assembles the release functions. */
export function createReleases(options: ReleasesOptions): Releases {
  const { configuration, clock, upstream, engine, logger } = options;
  const rooms = createRooms(options);
  const { releases, attestor, reported, recheck, automaticRepair, storeWatch } = rooms;
  const recovery = createRecoveryRun({
    recover: (signal) =>
      recoverReleases(
        {
          ...rooms,
          signingKeys: options.signingKeys(),
          retention: retentionOf(configuration()),
          verifyAfterSeconds: configuration().verifyAtBootAfterSeconds,
          maxVerifyAgeSeconds: configuration().maxVerifyAgeSeconds,
        },
        signal,
      ),
    clock,
    logger,
  });
  const retry = createFirstSyncRetry({
    ...options,
    isNeeded: () => upstream.current() !== null && releases.current('official') === null,
  });
  const switches = createSwitches(options, rooms);
  const syncState = (): SyncState => {
    const planned = [options.plannedSyncAt(), retry.plannedAt(), switches.retryAt()];
    return syncStateOf(engine.historyOf(SYNC_JOB.kind), ...planned);
  };
  return {
    jobs: createJobs(options, rooms, recovery),
    reports: createReleaseReports({ ...options, releases, attestor, syncState }),
    actions: createReleaseActions({
      engine,
      releases,
      upstream,
      cleanupLimits: () => cleanupLimitsOf(configuration()),
      now: () => unixSeconds(clock),
    }),
    attestation: attestor,
    damageIntake: reported.take,
    repository: releases,
    catalogs: rooms.catalogs,
    objects: rooms.objects,
    publisher: rooms.publisher,
    attestor,
    damage: rooms.damage,
    attempts: rooms.attempts,
    lookAtStore: (withinMs, maxAgeMs) => storeWatch.look(withinMs, maxAgeMs),
    syncState,
    mirroredLocalized: () =>
      describeMirrored(upstream.current()?.attested, rooms, 'localized', unixSeconds(clock)),
    storage: createStorageMeter({ ...rooms, limits: () => cleanupLimitsOf(configuration()) }),
    diagnostics: createReleaseDiagnostics({
      ...rooms,
      upstream,
      clock,
      configuration,
      syncState,
    }),
    start: async () => {
      await recovery.start(() => {
        options.onRecovered();
        attestor.startRenewal();
        for (const part of [recheck, automaticRepair, storeWatch, retry, switches]) part.start();
      });
    },
    stop: async () => {
      await switches.stop();
      await storeWatch.stop();
      await automaticRepair.stop();
      retry.stop();
      await recovery.stop();
      await reported.stop();
      await recheck.stop();
      await attestor.stop();
    },
  };
}

type Rooms = ReturnType<typeof createRooms>;

/** Creates the collaborators that tasks, actions and reports share. */
function createRooms(options: ReleasesOptions) {
  const { database, configuration, writer } = options;
  const common = {
    ...options,
    releases: createReleaseRepository(database),
    catalogs: createCatalogStore(database),
    objects: createObjectRegistry(database),
    attestations: createAttestationRepository(database),
    probes: createProbeRepository(database),
    origins: createOriginRepository(database),
    attempts: createRepairAttempts(database),
  };
  const automaticRepair = createAutomaticRepair({
    ...common,
    isEnabled: () => configuration().automaticRepair,
  });
  const attestor = createAttestor({
    ...common,
    limits: () => ({
      retention: retentionOf(configuration()),
      maxVerifyAgeSeconds: configuration().maxVerifyAgeSeconds,
      origin: originLimits(options.upstream.current()?.attested, common.origins),
    }),
    ttlSeconds: () => configuration().attestationTtlSeconds,
    // A schedule verifies current releases, so only a date in the future asks for more. Nothing else verifies announced ones.
    onRenewal: () => {
      const tooOld = { current: Infinity, announced: configuration().maxVerifyAgeSeconds };
      const verify = (): void => queueVerification(common, tooOld);
      tryToStore(verify, 'the verification of a release', options.logger);
    },
  });
  const damage = createReleaseDamage({
    ...common,
    onDamage: () => {
      recheck.wake();
      automaticRepair.wake();
    },
    onSoundnessChanged: options.onSoundnessChanged,
  });
  const inspector = createStoredObjectInspector({ ...common, storeId: writer.storeId });
  const attestation = createDamageAttestation(attestor);
  const recheck = createWithdrawalRecheck({ ...common, inspector, damage, attestation });
  const check = createReleaseCheck({
    ...common,
    damage,
    attestation,
    inspector,
    concurrency: () => configuration().verifyConcurrency,
  });
  const reported = createReportedDamage({ ...common, inspector, damage, attestation, check });
  const publisher = createPublisher({
    ...common,
    attestor,
    check,
    reverifyAfterSeconds: () => Math.floor(configuration().maxVerifyAgeSeconds / 2),
    announceSeconds: () => configuration().announceSeconds,
  });
  const restoreFormat = async (): Promise<void> => {
    if ((await findLostStore({ ...options, signingKeys: options.signingKeys() })) !== writer.storeId) return;
    await writer.restoreFormat();
    options.logger.error({ store_id: writer.storeId }, FORMAT_RESTORED);
  };
  const storeWatch = createStoreWatch({ ...common, check, attestor, restoreFormat });
  return { ...common, attestor, damage, recheck, reported, check, publisher, automaticRepair, storeWatch };
}

/** Creates what switches releases without a request: an announcement whose time has come, and the origin of an edge. */
function createSwitches(options: ReleasesOptions, rooms: Rooms): OriginFollower {
  const { configuration, clock, upstream } = options;
  const follower = createOriginFollower({
    ...rooms,
    ...options,
    retainedCount: () => configuration().retention.retained,
  });
  const announced = createAnnouncedSwitch({
    ...rooms,
    ...options,
    mayBecomeCurrent: (release) =>
      originMakesCurrent(upstream.current()?.attested, rooms.origins, release, unixSeconds(clock)),
  });
  const parts = [follower, announced];
  return {
    retryAt: () => follower.retryAt(),
    start: () => {
      for (const part of parts) part.start();
    },
    stop: async () => {
      for (const part of parts) await part.stop();
    },
  };
}

function createJobs(options: ReleasesOptions, rooms: Rooms, recovery: RecoveryRun): readonly Job[] {
  /** The collaborators of a job: the upstream and the settings that apply now. */
  const workingWith = (connected: ConnectedUpstream | null) => {
    const settings = options.configuration();
    return {
      ...rooms,
      adapter: connected?.adapter ?? null,
      downloader: connected?.downloader ?? null,
      attested: connected?.attested ?? null,
      concurrency: settings.downloadConcurrency,
      reserveBytes: settings.reserveBytes,
      announceSeconds: settings.announceSeconds,
      switchLeadSeconds: settings.switchLeadSeconds,
      retainedCount: settings.retention.retained,
      cleanupLimits: cleanupLimitsOf(settings),
      graceMs: settings.retention.graceSeconds * 1000,
    };
  };
  /** Creates the job again for each run. */
  const perRun = (create: (working: ReturnType<typeof workingWith>) => Job): Job => ({
    ...create(workingWith(null)),
    run: async (context) => {
      await requireStore(options.root, options.writer.storeId);
      try {
        return await options.upstream.use(
          async (connected) => await create(workingWith(connected)).run(context),
        );
      } catch (error) {
        throw releaseTaskError(error);
      }
    },
  });
  const createSync = (working: ReturnType<typeof workingWith>): Job => {
    const { attested, downloader } = working;
    return attested === null || downloader === null
      ? createSyncTask(working)
      : createMirrorTask({ ...working, attested, downloader });
  };
  return [
    createSync,
    createCatalogRefreshTask,
    createVerifyTask,
    createRepairTask,
    createDamageRepairTask,
    createRefreshTask,
    createEarlySwitchTask,
    createCleanupTask,
  ].map((create) => afterRecovery(perRun(create), recovery));
}

function retentionOf({ retention }: ReleasesConfiguration): CleanupLimits['retention'] {
  return { count: retention.retained, maxAgeSeconds: retention.maxAgeSeconds };
}

function cleanupLimitsOf(configuration: ReleasesConfiguration): CleanupLimits {
  return { retention: retentionOf(configuration), keep: configuration.retention.keep };
}
