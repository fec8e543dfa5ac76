import { generateKeyPairSync } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { keyIdOf, type SigningKey } from '../../../src/attestation/keys.ts';
import { createClosers } from '../../../src/daemon/closers.ts';
import type { DaemonParts } from '../../../src/daemon/daemon-parts.ts';
import { openDataFolder, type Waiting } from '../../../src/daemon/open-data-folder.ts';
import { becomeWriter, openVolume } from '../../../src/daemon/open-snapshot-volume.ts';
import { openMainDatabase } from '../../../src/engine/database/main-database.ts';
import type { Database } from '../../../src/engine/database/sqlite-database.ts';
import { createReleaseEvents } from '../../../src/engine/events/release-events.ts';
import { createTaskEngine } from '../../../src/engine/tasks/create-task-engine.ts';
import type { Task } from '../../../src/engine/tasks/task.ts';
import { noFailpoints } from '../../../src/platform/files/failpoints.ts';
import { createHashPool } from '../../../src/platform/hashing/hash-pool.ts';
import { createSilentLogger } from '../../../src/platform/logging/logging.ts';
import { createUlidFactory } from '../../../src/platform/process/ids.ts';
import { openReleases, type Releases } from '../../../src/releases/releases.ts';
import { LEASE_TAKEOVER_MS } from '../../../src/snapshot/volume/lease-claim.ts';
import { createDownloader } from '../../../src/upstream/http/downloader.ts';
import { createUpstreamSource } from '../../../src/upstream/adapters/upstream-source.ts';
import type { FakeClock } from '../../fakes/fake-clock.ts';
import { act } from '../actions.ts';
import type { ScriptedUpstream } from '../scripted-upstream.ts';

/** Where a daemon has its database, relative to the folder of the test. */
export const MAIN_DATABASE = 'host/data/main.db';

/** Where two daemons have their data, and the snapshot volume. Folders of different parents, as nothing else makes their names durable. */
export const DATA_FOLDER = 'host/data';
export const OTHER_DATA_FOLDER = 'other-host/data';
export const VOLUME = 'disk/volume';

const pair = generateKeyPairSync('ed25519');

/** The key that all these daemons sign with. */
export const SIGNING_KEYS: readonly SigningKey[] = [
  { keyId: keyIdOf(pair.publicKey), privateKey: pair.privateKey },
];

/** A start of a daemon over the folders of one folder. */
export interface CrashDaemonOptions {
  readonly folder: string;
  readonly clock: FakeClock;
  readonly upstream: ScriptedUpstream;
  /** Relative to the folder of the test; that of the first daemon by default. */
  readonly data?: string;
  /** Whether the start may wait until the lease of another daemon has ended. */
  readonly mayWait?: boolean;
  /** Called after each commit of the database, with its whole content. */
  readonly onCommit?: (image: Buffer, isDurable: boolean) => void;
  /** Called when a task is accepted. */
  readonly onAccepted?: (taskId: string) => void;
}

export interface CrashDaemon {
  readonly releases: Releases;
  /** Begins with the tasks, also those that a power failure ended. */
  work(): void;
  /** Waits until no task is queued or runs. */
  settle(): Promise<void>;
  /** Runs a control action and waits until its task has ended. */
  act(action: string, body?: Record<string, unknown>): Promise<Task>;
  task(taskId: string): Task | null;
  /** What the daemon has reported as an error: after a power failure it must not find damage. */
  readonly errors: readonly string[];
  stop(): Promise<void>;
}

let boots = 0;

/**
 * Starts the parts of a daemon that write the snapshot volume, as the daemon does: lock, database, lease, volume, recovery.
 *
 * @throws what the start throws; Error when it has to wait
 */
export async function startCrashDaemon(options: CrashDaemonOptions): Promise<CrashDaemon> {
  const { folder, clock, upstream, data = DATA_FOLDER, mayWait = false, onCommit } = options;
  const errors: string[] = [];
  const logger = Object.assign(createSilentLogger(), {
    error: (...given: unknown[]) => {
      errors.push(String(given.at(-1)));
    },
  });
  boots += 1;
  const bootId = `boot-${boots}`;
  const closers = createClosers(logger);
  const root = join(folder, VOLUME);
  const stopping = new AbortController();
  const shared = {
    configuration: { data: { dir: join(folder, data) }, snapshot: { root, adopt: false } },
    options: {
      clock,
      logger,
      failpoints: noFailpoints,
      signingKeys: SIGNING_KEYS,
      supervision: null,
      bootId,
      requestShutdown: (reason: string) => {
        throw new Error(`the daemon stops: ${reason}`);
      },
    },
    closers,
  } as unknown as DaemonParts;
  const waiting: Waiting = {
    clock,
    signal: stopping.signal,
    onWait: (reason) => {
      // The lease is not durable: after a power failure it may be nobody's for some seconds, but never that of another daemon.
      if (mayWait || reason.startsWith('an unknown daemon has the lease'))
        void clock.advance(2 * LEASE_TAKEOVER_MS);
      else stopping.abort(new Error(`the start waits: ${reason}`));
    },
  };
  try {
    const { database } = await openDataFolder(
      shared,
      waiting,
      () => true,
      async (path, given) => {
        const opened = await openMainDatabase(path, given);
        return onCommit === undefined
          ? opened
          : { ...opened, database: watchCommits(opened.database, onCommit, closers) };
      },
    );
    const writable = await becomeWriter(shared, database, waiting);
    const writer = await openVolume(shared, database, writable, waiting);
    const { lease } = writable;
    const engine = createTaskEngine({
      database,
      clock,
      random: () => 0,
      createId: createUlidFactory({ clock, randomBytes: nextBytes }),
      logger,
      bootId,
    });
    const events = createReleaseEvents({
      database,
      engine,
      subscribers: [],
      clock,
      logger,
      failpoints: noFailpoints,
    });
    const pool = createHashPool({ threads: 1 });
    closers.add('hash pool', async () => await pool.close());
    const downloader = createDownloader({
      adapter: upstream,
      pool,
      clock,
      logger,
      limits: { maxAttempts: 1, backoffBaseMs: 1, backoffCapMs: 1, maxFileBytes: 1e9 },
    });
    const source = createUpstreamSource(
      { adapter: upstream, downloader, close: async () => undefined },
      () => undefined,
    );
    const releases = openReleases({
      ...shared.options,
      database,
      root,
      writer,
      pool,
      upstream: source,
      engine,
      events,
      random: () => 0,
      signingKeys: () => SIGNING_KEYS,
      configuration: () => ({
        attestationTtlSeconds: 600,
        maxVerifyAgeSeconds: 7 * 86_400,
        verifyAtBootAfterSeconds: 86_400,
        retention: { retained: 1, maxAgeSeconds: 0, keep: 1, graceSeconds: 60 },
        downloadConcurrency: 3,
        verifyConcurrency: 2,
        reserveBytes: 0,
        announceSeconds: 0,
        switchLeadSeconds: 15,
        automaticRepair: false,
      }),
      plannedSyncAt: () => null,
      crashLoop: () => null,
      version: '0.1.0-test',
      otherWriter: lease.otherWriter,
      onRecovered: () => {
        lease.noteRecovered();
      },
    });
    engine.jobs.register(...releases.jobs.map((job) => ({ ...job, maxAttempts: 1 })));
    closers.add('releases', async () => await releases.stop());
    closers.add('tasks', async () => await engine.stop(5000));
    engine.recover();
    await releases.start();
    return {
      releases,
      act: async (action, body = {}) => {
        const { task } = await act(releases.actions, action, body);
        options.onAccepted?.(task.task_id);
        return await new Promise((resolve) => {
          engine.onFinished((finished) => {
            if (finished.task_id === task.task_id) resolve(finished);
          });
          const known = engine.get(task.task_id);
          if (known !== null && known.finished_at !== null) resolve(known);
        });
      },
      errors,
      work: () => {
        engine.start();
      },
      settle: async () => {
        while (engine.counts().queued + engine.counts().running > 0) await nextTurn();
      },
      task: (taskId) => engine.get(taskId),
      stop: async () => await closers.closeAll(),
    };
  } catch (error) {
    await closers.closeAll();
    throw error;
  }
}

let count = 0;

/** Different in each call, so that no two tasks have the same id. */
function nextBytes(length: number): Uint8Array {
  count += 1;
  return Uint8Array.from({ length }, (_, at) => (count >> (at * 5)) & 31);
}

/** The same database; each of its commits is reported. */
function watchCommits(
  database: Database,
  onCommit: (image: Buffer, isDurable: boolean) => void,
  closers: DaemonParts['closers'],
): Database {
  const reader = new DatabaseSync(database.path, { readOnly: true });
  closers.add('reader', () => reader.close());
  const version = reader.prepare('PRAGMA data_version');
  let seen: unknown = null;
  const note = (isDurable: boolean): void => {
    const now = Object.values(version.get() ?? {})[0];
    if (now === seen) return;
    seen = now;
    onCommit(Buffer.from(reader.serialize()), isDurable);
  };
  note(true);
  return {
    ...database,
    transaction: (section, options) => {
      try {
        return database.transaction(section, options);
      } finally {
        note(options?.durable ?? true);
      }
    },
    prepare: (sql) => {
      const statement = database.prepare(sql);
      return {
        ...statement,
        get: (...given) => {
          const row = statement.get(...given);
          note(true);
          return row;
        },
        run: (...given) => {
          const result = statement.run(...given);
          note(true);
          return result;
        },
      };
    },
  };
}
