import type { SigningKey } from '../../attestation/keys.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import type { Failpoints } from '../../platform/files/failpoints.ts';
import type { HashPool } from '../../platform/hashing/digests.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { SnapshotWriter } from '../../snapshot/volume/snapshot-writer.ts';
import type { ActionHandler, AttestationSource, DamageIntake, ReportHandler } from '../api/ports.ts';
import type { TaskEngine } from '../tasks/task-engine.ts';
import type { TaskArguments, TaskHandler } from '../tasks/task.ts';
import type { ConnectedUpstream, UpstreamSource } from '../upstream/upstream-source.ts';
import { createReleaseActions, createReleasePlans } from './actions.ts';
import { createAttestationRepository } from './records/attestation-repository.ts';
import { createAttestor, type Attestor } from './attest/attestor.ts';
import { recoverReleases } from './recovery/boot-recovery.ts';
import { createCatalogRefreshTask } from './catalog/catalog-refresh-task.ts';
import { createCatalogStore, type CatalogStore } from './catalog/catalog-store.ts';
import { createCleanupTask } from './cleanup/cleanup-task.ts';
import { createDamageRecheck } from './checks/damage-recheck.ts';
import { createObjectInspector } from './checks/object-inspector.ts';
import { createReleaseDamage } from './checks/release-damage.ts';
import { createReportedDamage } from './checks/reported-damage.ts';
import { createReleaseDiagnostics, type ReleaseDiagnostics } from './checks/diagnostics.ts';
import { createObjectRegistry, type ObjectRegistry } from './records/object-registry.ts';
import type { EntryRebuilder } from './repair/object-restore.ts';
import { createProbeRepository } from './records/probe-repository.ts';
import { createPublisher, type Publisher } from './publish/publish.ts';
import { afterRecovery, createRecoveryRun } from './recovery/recovery-run.ts';
import { createRefreshTask } from './attest/refresh-task.ts';
import { createReleaseCheck, type ReleaseCheck } from './checks/release-check.ts';
import { createReleaseRepository, type ReleaseRepository } from './records/release-repository.ts';
import { createRepairTask } from './repair/repair-task.ts';
import { createReleaseReports } from './reports.ts';
import type { RetentionLimits } from './cleanup/retention-rules.ts';
import type { SqlDatabase } from './records/sql.ts';
import { createSyncTask } from './sync/sync-task.ts';
import { createVerifyTask } from './checks/verify-task.ts';

/** The settings of the release rooms. */
export interface ReleasesConfiguration {
  /** How long an attestation is good for, in seconds; it is renewed at a third of that. */
  readonly attestationTtlSeconds: number;
  /** Seconds after which the last full verification of a current release no longer supports an attestation. */
  readonly maxVerifyAgeSeconds: number;
  /** Seconds after which a current release is fully verified at boot. */
  readonly verifyAtBootAfterSeconds: number;
  readonly retention: {
    /** Superseded releases of a channel that stay attested for clients that are still downloading. */
    readonly retained: number;
    /** Seconds for which they stay so. */
    readonly maxAgeSeconds: number;
    /** Releases of a channel that a cleanup keeps. */
    readonly keep: number;
    /** Seconds for which an object that nothing refers to is kept. */
    readonly graceSeconds: number;
  };
  /** Entries fetched at once. */
  readonly downloadConcurrency: number;
  /** Objects hashed at once. */
  readonly verifyConcurrency: number;
  /** Bytes that a sync leaves free on the volume. */
  readonly reserveBytes: number;
  /** Runs of a sync, catalog-refresh or repair before it fails for good. */
  readonly maxAttempts: number;
}

/** What the releases tell the metrics. */
export interface ReleaseMetrics {
  /** @param expiresAt Unix seconds */
  attestationIssued(version: number, expiresAt: number): void;
  downloaded(bytes: number): void;
}

/** What releases are made of. */
export interface ReleasesDependencies {
  readonly database: SqlDatabase;
  /** Root of the snapshot volume that `writer` writes. */
  readonly root: string;
  readonly writer: SnapshotWriter;
  readonly pool: HashPool;
  readonly upstream: UpstreamSource;
  readonly engine: TaskEngine;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The keys that sign now; they can change while the daemon runs. */
  readonly signingKeys: () => readonly SigningKey[];
  /** The settings that count now; but for `maxAttempts` they can change while the daemon runs. */
  readonly configuration: () => ReleasesConfiguration;
  readonly metrics?: ReleaseMetrics;
  readonly failpoints: Failpoints;
  readonly bootId: string;
  readonly version: string;
  /** Makes localized entries again in a repair. */
  readonly rebuildEntry?: EntryRebuilder;
}

/** The release semantics of the daemon. */
export interface Releases {
  readonly handlers: readonly TaskHandler[];
  readonly reports: ReadonlyMap<string, ReportHandler>;
  readonly actions: ReadonlyMap<string, ActionHandler>;
  /** Task arguments of the actions from an accepted body alone, by action; each queues a task of that kind. */
  readonly plans: ReadonlyMap<string, (body: Readonly<Record<string, unknown>>) => TaskArguments>;
  readonly attestation: AttestationSource;
  /** Takes damage that servers report. */
  readonly damageIntake: DamageIntake;
  /** What others build releases from: the localized channel, the parse index. */
  readonly repository: ReleaseRepository;
  readonly catalogs: CatalogStore;
  readonly objects: ObjectRegistry;
  readonly publisher: Publisher;
  readonly check: ReleaseCheck;
  readonly attestor: Attestor;
  readonly diagnostics: ReleaseDiagnostics;
  /** Resolves when the recovery of `start` is complete; rejects with the signal's reason. */
  recovered(signal: AbortSignal): Promise<void>;
  /**
   * Recovers, attests what was found, and begins to renew. Nothing is attested and no task of these handlers runs
   * before. The handlers must be registered; the engine may run already. Resolves after the first attempt: a volume
   * that cannot be used yet is logged and tried again until `stop`.
   */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Puts the release rooms together. */
export function createReleases(deps: ReleasesDependencies): Releases {
  const { configuration, clock, upstream, engine, logger } = deps;
  const parts = createParts(deps);
  const { releases, catalogs, objects, attestor, check, publisher, reported, recheck } = parts;
  const working = (connected: ConnectedUpstream | null) => workingWith(deps, parts, connected);
  /** Creates the handler again for each run, with the upstream and the settings of that moment. */
  const perRun = (create: (of: ReturnType<typeof working>) => TaskHandler): TaskHandler => ({
    ...create(working(null)),
    run: async (context) =>
      await upstream.use(async (connected) => await create(working(connected)).run(context)),
  });
  const recovery = createRecoveryRun({
    recover: (signal) =>
      recoverReleases(
        {
          ...working(null),
          signingKeys: deps.signingKeys(),
          verifyAfterSeconds: configuration().verifyAtBootAfterSeconds,
        },
        signal,
      ),
    clock,
    logger,
  });
  return {
    handlers: [
      createSyncTask,
      createCatalogRefreshTask,
      createVerifyTask,
      createRepairTask,
      createRefreshTask,
      createCleanupTask,
    ].map((create) => afterRecovery(perRun(create), recovery)),
    reports: createReleaseReports({ releases, attestor }),
    actions: createReleaseActions({
      engine,
      releases,
      upstream,
      retention: () => retentionLimits(configuration()),
      keep: () => configuration().retention.keep,
      now: () => unixSeconds(clock),
    }),
    plans: createReleasePlans(() => configuration().retention.keep),
    attestation: attestor,
    damageIntake: reported.take,
    repository: releases,
    catalogs,
    objects,
    publisher,
    check,
    attestor,
    diagnostics: createReleaseDiagnostics({ ...parts, upstream, configuration }),
    recovered: (signal) => recovery.done(signal),
    start: async () => {
      await recovery.start(() => {
        attestor.startRenewal();
        recheck.start();
      });
    },
    stop: async () => {
      await recovery.stop();
      await reported.stop();
      await recheck.stop();
      await attestor.stop();
    },
  };
}

/** The parts that all rooms share; none of them depends on settings that a task is bound to. */
function createParts(deps: ReleasesDependencies) {
  const { database, configuration } = deps;
  const { root, writer, clock, failpoints, pool, logger } = deps;
  const common = {
    root,
    database,
    releases: createReleaseRepository(database),
    catalogs: createCatalogStore(database),
    objects: createObjectRegistry(database),
    attestations: createAttestationRepository(database),
    probes: createProbeRepository(database),
    writer,
    clock,
    failpoints,
    pool,
    logger,
  };
  const attestor = createAttestor({
    ...common,
    signingKeys: deps.signingKeys,
    bootId: deps.bootId,
    version: deps.version,
    limits: () => ({
      retention: retentionLimits(configuration()),
      maxVerifyAgeSeconds: configuration().maxVerifyAgeSeconds,
    }),
    ttlSeconds: () => configuration().attestationTtlSeconds,
    onIssued: deps.metrics === undefined ? undefined : deps.metrics.attestationIssued.bind(deps.metrics),
  });
  const damage = createReleaseDamage({
    ...common,
    onDamage: () => {
      recheck.wake();
    },
  });
  const inspector = createObjectInspector({ ...common, storeId: writer.storeId });
  const recheck = createDamageRecheck({ ...common, inspector, damage, attestor });
  const reported = createReportedDamage({ ...common, inspector, damage, attestor });
  const check = createReleaseCheck({
    ...common,
    damage,
    concurrency: () => configuration().verifyConcurrency,
  });
  const publisher = createPublisher({
    ...common,
    attestor,
    check,
    reverifyAfterSeconds: () => Math.floor(configuration().maxVerifyAgeSeconds / 2),
  });
  return { ...common, attestor, damage, recheck, reported, check, publisher };
}

/** What tasks work with: the shared parts, and the upstream and the settings of this moment. */
function workingWith(
  deps: ReleasesDependencies,
  parts: ReturnType<typeof createParts>,
  connected: ConnectedUpstream | null,
) {
  const configuration = deps.configuration();
  return {
    ...parts,
    adapter: connected?.adapter ?? null,
    downloader: connected?.downloader ?? null,
    engine: deps.engine,
    maxAttempts: configuration.maxAttempts,
    concurrency: configuration.downloadConcurrency,
    reserveBytes: configuration.reserveBytes,
    onDownloaded: deps.metrics === undefined ? undefined : deps.metrics.downloaded.bind(deps.metrics),
    rebuildEntry: deps.rebuildEntry,
    retention: retentionLimits(configuration),
    graceMs: configuration.retention.graceSeconds * 1000,
  };
}

function retentionLimits({ retention }: ReleasesConfiguration): RetentionLimits {
  return { count: retention.retained, maxAgeSeconds: retention.maxAgeSeconds };
}
