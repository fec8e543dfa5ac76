import { join } from 'node:path';
import type { SigningKey } from '../attestation/keys.ts';
import type { Clock } from '../platform/process/clock.ts';
import type { Failpoints } from '../platform/files/failpoints.ts';
import { createHashPool } from '../platform/hashing/hash-pool.ts';
import { createUlidFactory } from '../platform/process/ids.ts';
import type { Logger } from '../platform/logging/logging.ts';
import { openSnapshotWriter, type SnapshotWriter } from '../snapshot/volume/snapshot-writer.ts';
import { createDaemonApi, type DaemonApi } from './api/api-server.ts';
import { createDaemonActions } from './api/daemon-actions.ts';
import type { DaemonConfiguration } from './config.ts';
import { acquireDataLock } from './database/data-lock.ts';
import { openDatabase } from './database/database.ts';
import type { Database } from './database/sqlite-database.ts';
import { createReleases, type Releases, type ReleasesConfiguration } from './releases/releases.ts';
import { clockCheck, dataChecks, databaseCheck, laneCheck, storeChecks } from './reports/doctor-checks.ts';
import { createDoctorReport, type DoctorCheck } from './reports/doctor-report.ts';
import { createLogReport } from './reports/log-report.ts';
import type { LogRing } from './reports/log-ring.ts';
import { createTaskReports } from './reports/task-reports.ts';
import { createSchedules, type Schedules } from './schedules/schedules.ts';
import { createSettingsHolder, type SettingsLoader } from './settings/daemon-settings.ts';
import { createReload } from './settings/reload.ts';
import { createTaskEngine } from './tasks/create-task-engine.ts';
import type { TaskEngine } from './tasks/task-engine.ts';
import type { TaskResult } from './tasks/task.ts';
import { connectUpstream } from './upstream/connect-upstream.ts';
import type { UpstreamConfiguration } from './upstream/upstream-config.ts';
import { createUpstreamSource, type OwnedUpstream } from './upstream/upstream-source.ts';

/** What {@link createDaemon} needs beside its configuration. */
export interface DaemonDependencies {
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly logger: Logger;
  /** The newest lines of the log, for daemon.logs. */
  readonly logRing: Pick<LogRing, 'tail'>;
  readonly failpoints: Failpoints;
  readonly signingKeys: readonly SigningKey[];
  /** Reads configuration and keys again, for the reload action. */
  readonly loadSettings: SettingsLoader;
  readonly version: string;
  /** Different for every start of the process. */
  readonly bootId: string;
  /** Begins to end the process in order; called at most once, by the restart action. */
  readonly requestShutdown: (reason: string) => void;
}

/** The daemon: databases, tasks, releases, and the loopback API in front of them. */
export interface Daemon {
  /**
   * Opens everything, recovers what an earlier process left, attests what was found, and begins to work.
   *
   * @returns the address of the API; it answers 503 until recovery is done
   * @throws DatabaseError, StoreFormatError, ListenError; what was opened is closed by `stop`
   */
  start(): Promise<{ readonly url: string }>;
  /** Ends everything in order: the API, running tasks, the attestor, threads, the database. */
  stop(signal?: AbortSignal): Promise<void>;
}

/** How long running tasks may take to stop. */
const TASK_GRACE_MS = 20_000;
const DOCTOR_TIMEOUT_MS = 3000;
const TASK_MAX_ATTEMPTS = 5;

/** Creates the daemon; nothing is opened before `start`. */
export function createDaemon(configuration: DaemonConfiguration, deps: DaemonDependencies): Daemon {
  const { clock, logger, bootId, version } = deps;
  const settings = createSettingsHolder({ configuration, signingKeys: deps.signingKeys });
  const closers: Array<readonly [string, (signal?: AbortSignal) => Promise<void> | void]> = [];
  const createId = createUlidFactory({ clock, randomBytes: deps.randomBytes });
  let readiness = { ready: false, message: 'recovery has not ended' };
  let graceMs = TASK_GRACE_MS;
  let stopped = false;
  let api: DaemonApi | null = null;

  const createParts = (database: Database, writer: SnapshotWriter): Parts => {
    const pool = createHashPool({ threads: configuration.hashing.threads });
    closers.push(['hash pool', async () => await pool.close()]);
    const connect = (wanted: UpstreamConfiguration): OwnedUpstream | null =>
      connectUpstream(wanted, {
        clock,
        logger,
        pool,
        random: deps.random,
      });
    const upstream = createUpstreamSource(connect(configuration.upstream), (error) => {
      logger.warn({ err: error }, 'connections to the former upstream could not be closed');
    });
    closers.push(['upstream', async () => await upstream.close()]);
    const engine = createTaskEngine({ database, clock, random: deps.random, createId, logger, bootId });
    const releases = createReleases({
      ...deps,
      database,
      root: configuration.snapshot.root,
      writer,
      pool,
      upstream,
      engine,
      signingKeys: () => settings.current().signingKeys,
      configuration: () => releasesConfiguration(settings.current().configuration),
    });
    for (const handler of releases.handlers) engine.register(handler);
    const schedules = createSchedules({ ...deps, database, engine, plans: releases.plans, createId });
    const { attestor } = releases;
    const reload = createReload({ load: deps.loadSettings, settings, upstream, connect, attestor, logger });
    return { database, writer, engine, releases, schedules, reload };
  };

  const createApi = ({ database, writer, engine, releases, schedules, reload }: Parts): DaemonApi => {
    const checks: readonly DoctorCheck[] = [
      databaseCheck('database.main', database, clock),
      ...dataChecks(configuration.data.dir, bootId),
      ...storeChecks(configuration.snapshot.root, writer, bootId),
      ...releases.diagnostics().map(({ id }): DoctorCheck => ({
        id,
        run: () =>
          releases.diagnostics().find((found) => found.id === id) ?? {
            status: 'failing',
            message: 'nothing is known of it',
          },
      })),
      laneCheck(engine),
      schedules.check,
      clockCheck(clock),
    ];
    return createDaemonApi({
      reports: new Map([
        ...createTaskReports(engine),
        ...releases.reports,
        ...schedules.reports,
        ['daemon.doctor', createDoctorReport({ checks, clock, timeoutMs: DOCTOR_TIMEOUT_MS })],
        ['daemon.logs', createLogReport(deps.logRing)],
      ]),
      actions: new Map([
        ...releases.actions,
        ...schedules.actions,
        ...createDaemonActions({
          engine,
          reload,
          supervised: () => settings.current().configuration.supervised,
          requestRestart: (drain) => {
            if (!drain) graceMs = 0;
            deps.requestShutdown('the restart action');
          },
        }),
      ]),
      attestation: releases.attestation,
      damage: releases.damageIntake,
      readiness: () => readiness,
      clock,
      logger,
      version,
      bootId,
      createId,
      tokenFile: () => settings.current().configuration.tokenFile ?? null,
    });
  };

  const recover = async ({ engine, releases, schedules }: Parts): Promise<void> => {
    engine.recover();
    const recovery = releases.start();
    closers.push([
      'releases',
      async () => {
        await releases.stop();
        // Its error, if any, is that of `start`.
        await recovery.catch(() => undefined);
      },
    ]);
    await recovery;
    if (stopped) return;
    closers.push(['tasks', async () => await engine.stop(graceMs)]);
    engine.start();
    closers.push(['schedules', async () => await schedules.stop()]);
    schedules.start();
    readiness = { ready: true, message: 'ready' };
    if (configuration.sync.onStart && configuration.upstream.kind !== 'none') {
      await releases.actions.get('sync')?.({}, { idempotencyKey: null, correlationId: `boot-${bootId}` });
    }
  };

  return {
    start: async () => {
      const { data, snapshot, listen } = configuration;
      const lock = acquireDataLock(data.dir);
      closers.push(['data lock', () => lock.release()]);
      const database = openDatabase(join(data.dir, 'main.db'));
      closers.push(['database', () => database.close()]);
      const writer = await openSnapshotWriter({ root: snapshot.root, failpoints: deps.failpoints, clock });
      const parts = createParts(database, writer);
      api = createApi(parts);
      const { socketPath, host, port } = listen;
      const { url } = await api.listen(socketPath === undefined ? { host, port } : { socketPath });
      await recover(parts);
      return { url };
    },
    stop: async (signal) => {
      stopped = true;
      readiness = { ready: false, message: 'the daemon is stopping' };
      const failures: unknown[] = [];
      // The API first, so that nothing new arrives while the rest ends.
      closers.push(['api', async (cut) => await api?.close(cut)]);
      for (const [name, close] of closers.splice(0).toReversed()) {
        try {
          await close(signal);
        } catch (error) {
          logger.error({ err: error, part: name }, 'a part could not be ended in order');
          failures.push(error);
        }
      }
      if (failures.length > 0) throw new AggregateError(failures, 'the daemon could not be ended in order');
    },
  };
}

interface Parts {
  readonly database: Database;
  readonly writer: SnapshotWriter;
  readonly engine: TaskEngine;
  readonly releases: Releases;
  readonly schedules: Schedules;
  readonly reload: () => Promise<TaskResult>;
}

function releasesConfiguration({
  attestation,
  retention,
  upstream,
  verify,
  snapshot,
}: DaemonConfiguration): ReleasesConfiguration {
  return {
    attestationTtlSeconds: attestation.ttlSeconds,
    maxVerifyAgeSeconds: attestation.maxVerifyAgeSeconds,
    // Early enough that the verification ends before the old one no longer counts.
    verifyAtBootAfterSeconds: Math.floor(attestation.maxVerifyAgeSeconds / 2),
    retention: {
      retained: retention.retainedCount,
      maxAgeSeconds: retention.retainedSeconds,
      keep: retention.keep,
      graceSeconds: retention.graceSeconds,
    },
    downloadConcurrency: upstream.concurrency,
    verifyConcurrency: verify.concurrency,
    reserveBytes: snapshot.reserveBytes,
    maxAttempts: TASK_MAX_ATTEMPTS,
  };
}
