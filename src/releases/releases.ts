import type { SigningKey } from '../attestation/keys.ts';
import { unixSeconds } from '../platform/process/clock.ts';
import { tryToStore } from '../engine/database/store-when-possible.ts';
import type { DefinedAction } from '../engine/define-action.ts';
import type { DefinedReport } from '../engine/define-report.ts';
import type { Job } from '../engine/tasks/job.ts';
import type { AttestedUpstream } from '../upstream/attested/attested-upstream.ts';
import type { UpstreamSource } from '../upstream/adapters/upstream-source.ts';
import { createAttestor, type AttestationSource, type Attestor } from './attest/attestor.ts';
import { createCatalogStore, type CatalogStore } from './catalog/catalog-store.ts';
import { createDamageReports, type ReportDamage } from './checks/damage-reports.ts';
import { diagnoseReleases, type ReleaseDiagnosis } from './diagnostics.ts';
import { queueVerification } from './checks/queue-verification.ts';
import { createReleaseCheck } from './checks/release-check.ts';
import {
  createDamageAttestation,
  createReleaseDamage,
  type DamageAttestation,
  type ReleaseDamage,
} from './checks/release-damage.ts';
import { createStoreWatch } from './checks/store-watch.ts';
import { createStoredObjectInspector, type StoredObjectInspector } from './checks/stored-object-inspector.ts';
import { createWithdrawalRecheck } from './checks/withdrawal-recheck.ts';
import { createStorageMeter, type StorageMeter } from './cleanup/storage-use.ts';
import { createUpstreamWaits } from './download/upstream-waits.ts';
import { implementReleaseJobs } from './implement-release-jobs.ts';
import { SYNC_JOB } from './jobs/release-jobs.ts';
import { describeShortAge, type OriginTrouble } from './mirror/origin-trouble.ts';
import { createOriginFollower } from './mirror/origin-follower.ts';
import { describeMirrored, originLimits, originMakesCurrent } from './mirror/origin-state.ts';
import { createAnnouncedSwitch } from './publish/announced-switch.ts';
import { createPublisher, type Publisher } from './publish/publish.ts';
import { createAttestationRepository } from './records/attestation-repository.ts';
import { createObjectRegistry, type ObjectRegistry } from './records/object-registry.ts';
import { createOriginRepository } from './records/origin-repository.ts';
import { createProbeRepository } from './records/probe-repository.ts';
import { createReleaseRepository, type ReleaseRepository } from './records/release-repository.ts';
import { createRepairAttempts, type RepairAttempts } from './records/repair-attempts.ts';
import { recoverReleases } from './recovery/boot-recovery.ts';
import { createRecoveryRun } from './recovery/recovery-run.ts';
import { restoreLostFormat } from './recovery/store-owner.ts';
import { releaseActions } from './release-actions.ts';
import type { ReleaseBase, ReleaseParts } from './release-parts.ts';
import { createAutomaticRepair } from './repair/automatic-repair.ts';
import { releaseReports } from './reports.ts';
import { createFirstSyncRetry } from './sync/first-sync-retry.ts';
import { createStaging, createStagingSweep } from './sync/staging.ts';
import { syncStateOf, type SyncState } from './sync/sync-state.ts';

interface ReleasesOptions extends ReleaseBase {
  readonly upstream: UpstreamSource;
  /** The keys that sign now; they can change while the daemon runs. */
  readonly signingKeys: () => readonly SigningKey[];
  /** When a sync that is not queued yet is planned, Unix seconds; `null` when none is. */
  readonly plannedSyncAt: () => number | null;
  /** Describes the crash loop that the daemon is in; `null` when it is in none. */
  readonly crashLoop: () => string | null;
  readonly bootId: string;
  readonly version: string;
  readonly otherWriter: boolean;
  readonly onRecovered: () => void;
}

export interface Releases {
  readonly jobs: readonly Job[];
  readonly reports: readonly DefinedReport[];
  readonly actions: readonly DefinedAction[];
  readonly attestation: AttestationSource;
  readonly reportDamage: ReportDamage;
  readonly repository: ReleaseRepository;
  readonly catalogs: CatalogStore;
  readonly objects: ObjectRegistry;
  readonly publisher: Publisher;
  readonly attestor: Attestor;
  readonly diagnostics: () => readonly ReleaseDiagnosis[];
  /**
   * Checks the manifests and objects of the releases, for the diagnostics; takes at most `withinMs` milliseconds.
   *
   * @param maxAgeMs a check that ended at most this long ago is enough, milliseconds
   */
  checkStore(withinMs: number, maxAgeMs: number): Promise<void>;
  readonly syncState: () => SyncState;
  /** Why a localized channel that is copied from an origin has no release; `null` where it is made here. */
  readonly mirroredLocalized: () => string | null;
  /** The origin of an edge that cannot be followed; `null` while it can, and without one. */
  readonly originTrouble: () => OriginTrouble | null;
  readonly storage: StorageMeter;
  readonly damage: ReleaseDamage;
  readonly attempts: RepairAttempts;
  onSoundnessChanged(listener: () => void): void;
  /**
   * Recovers, attests the releases found, and starts the renewal. Before that, nothing is attested and no task of these
   * jobs runs. The jobs must be registered; the engine may already run. Resolves after the first attempt: when the
   * volume cannot be used yet, the error is logged and the recovery is retried until `stop`.
   */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Opens the releases of a daemon; nothing runs before `start`. */
export function openReleases(options: ReleasesOptions): Releases {
  const { clock, upstream, engine, logger, signingKeys, otherWriter } = options;
  const parts = createParts(options);
  const { attestor, releases, origins, damage } = parts;
  const recovery = createRecoveryRun(
    (signal) => recoverReleases({ ...parts, signingKeys, otherWriter }, signal),
    clock,
    logger,
  );
  const damageReports = createDamageReports(parts);
  const recheck = createWithdrawalRecheck(parts);
  const automaticRepair = createAutomaticRepair(parts);
  const stagingSweep = createStagingSweep(parts);
  const storeWatch = createStoreWatch(parts, () => restoreLostFormat(parts, signingKeys()));
  const retry = createFirstSyncRetry(
    parts,
    () => upstream.current() !== null && releases.current('official') === null,
  );
  const follower = createOriginFollower(parts, upstream);
  const announced = createAnnouncedSwitch(parts, (release) =>
    originMakesCurrent(attestedOf(upstream), origins, release, unixSeconds(clock)),
  );
  const syncState = (): SyncState => {
    const planned = [options.plannedSyncAt(), retry.plannedAt(), follower.retryAt()];
    const wait = engine.runningSince(SYNC_JOB.kind) === null ? null : parts.waits.current();
    return syncStateOf(engine.historyOf(SYNC_JOB.kind), wait, ...planned);
  };
  const origin = judgeOrigin(parts, upstream, follower);
  return {
    jobs: implementReleaseJobs(parts, upstream, recovery),
    reports: releaseReports(parts, {
      upstream,
      syncState,
      originTrouble: origin.trouble,
      crashLoop: options.crashLoop,
    }),
    actions: releaseActions(parts, upstream),
    attestation: attestor,
    reportDamage: damageReports.take,
    repository: releases,
    catalogs: parts.catalogs,
    objects: parts.objects,
    publisher: parts.publisher,
    attestor,
    damage,
    attempts: parts.attempts,
    storage: createStorageMeter(parts),
    checkStore: (withinMs, maxAgeMs) => storeWatch.check(withinMs, maxAgeMs),
    syncState,
    originTrouble: origin.trouble,
    mirroredLocalized: () => describeMirrored(attestedOf(upstream), parts, 'localized', unixSeconds(clock)),
    diagnostics: () =>
      diagnoseReleases(parts, upstream.current()?.adapter ?? null, {
        sync: syncState(),
        trouble: origin.trouble(),
        shortAge: origin.shortAge(),
      }),
    onSoundnessChanged: (listener) => damage.onSoundnessChanged(listener),
    start: async () => {
      await recovery.start(() => {
        options.onRecovered();
        attestor.startRenewal();
        for (const work of [stagingSweep, recheck, automaticRepair, storeWatch, retry, follower, announced])
          work.start();
      });
    },
    stop: async () => {
      for (const work of [follower, announced, stagingSweep, storeWatch, automaticRepair, retry])
        await work.stop();
      for (const work of [recovery, damageReports, recheck, attestor]) await work.stop();
    },
  };
}

/** What is wrong with the origin of an edge, and with the limit on the age of its attestations; `null` where nothing is. */
function judgeOrigin(
  { releases, origins }: ReleaseParts,
  upstream: UpstreamSource,
  follower: ReturnType<typeof createOriginFollower>,
): { readonly trouble: () => OriginTrouble | null; readonly shortAge: () => string | null } {
  return {
    trouble: () => {
      const trouble = follower.trouble();
      if (trouble === null) return null;
      const current = releases.current('official');
      const limits = originLimits(attestedOf(upstream), origins);
      const servedUntil = current === null || limits === null ? null : limits.freshUntil(current);
      return { ...trouble, servedUntil };
    },
    shortAge: () => {
      const attested = attestedOf(upstream);
      const held = origins.held();
      if (attested === undefined || attested.isCarried === true || held === null) return null;
      return describeShortAge(attested.maxAgeSeconds, held.statement);
    },
  };
}

function attestedOf(upstream: UpstreamSource): AttestedUpstream | undefined {
  return upstream.current()?.attested;
}

interface OpenParts extends ReleaseParts {
  readonly inspector: StoredObjectInspector;
  readonly attestation: DamageAttestation;
}

function createParts(options: ReleasesOptions): OpenParts {
  const { database, configuration, writer, upstream, engine, clock, logger } = options;
  const releases = createReleaseRepository(database);
  const catalogs = createCatalogStore(database);
  const objects = createObjectRegistry(database);
  const attestations = createAttestationRepository(database);
  const origins = createOriginRepository(database);
  const staging = createStaging({ writer, engine, reserveBytes: () => configuration().reserveBytes });
  const attestor = createAttestor({
    ...options,
    releases,
    attestations,
    limits: () => ({
      retention: configuration().retention,
      maxVerifyAgeSeconds: configuration().maxVerifyAgeSeconds,
      origin: originLimits(attestedOf(upstream), origins),
    }),
    ttlSeconds: () => configuration().attestationTtlSeconds,
    // A schedule verifies current releases, so only a date in the future asks for more. Nothing else verifies announced ones.
    onRenewal: () => {
      const tooOld = { current: Infinity, announced: configuration().maxVerifyAgeSeconds };
      const verify = (): void => queueVerification({ releases, engine, clock }, tooOld);
      tryToStore(verify, 'the verification of a release', logger);
    },
  });
  const damage = createReleaseDamage({ database, releases, objects, clock });
  const inspector = createStoredObjectInspector({ ...options, storeId: writer.storeId, objects, releases });
  const attestation = createDamageAttestation(attestor);
  const check = createReleaseCheck({
    ...options,
    releases,
    catalogs,
    objects,
    damage,
    attestation,
    inspector,
    concurrency: () => configuration().verifyConcurrency,
  });
  const publisher = createPublisher({ ...options, releases, catalogs, objects, attestor, check });
  return {
    ...options,
    releases,
    catalogs,
    objects,
    attestations,
    probes: createProbeRepository(database),
    origins,
    attempts: createRepairAttempts(database),
    staging,
    waits: createUpstreamWaits(clock),
    damage,
    attestor,
    check,
    publisher,
    inspector,
    attestation,
  };
}
