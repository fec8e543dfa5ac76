import { generateKeyPairSync } from 'node:crypto';
import { chmod, copyFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { DefinedAction } from '../../src/engine/define-action.ts';
import type { Job } from '../../src/engine/tasks/job.ts';
import type { Task } from '../../src/engine/tasks/task.ts';
import { keyIdOf, type SigningKey, type TrustedKey } from '../../src/attestation/keys.ts';
import { verifyEnvelope } from '../../src/attestation/verify.ts';
import { openDatabase } from '../../src/engine/database/database.ts';
import type { Database } from '../../src/engine/database/sqlite-database.ts';
import { createReleaseEvents } from '../../src/engine/events/release-events.ts';
import { openReleases, type Releases } from '../../src/releases/releases.ts';
import type { ReleasesConfiguration } from '../../src/releases/releases-configuration.ts';
import { createTaskEngine } from '../../src/engine/tasks/create-task-engine.ts';
import type { TaskEngine } from '../../src/engine/tasks/task-engine.ts';
import { createDownloader } from '../../src/upstream/http/downloader.ts';
import { createUpstreamSource } from '../../src/upstream/adapters/upstream-source.ts';
import type { AttestationStatement } from '../../src/domain/verdict/attestation.ts';
import { manifestDigestOf } from '../../src/domain/release/digest.ts';
import type { ManifestEntry } from '../../src/domain/release/manifest.ts';
import { blake3Hex } from '../../src/platform/hashing/blake3.ts';
import type { Failpoints } from '../../src/platform/files/failpoints.ts';
import type { HashPool } from '../../src/platform/hashing/digests.ts';
import { createHashPool } from '../../src/platform/hashing/hash-pool.ts';
import { createUlidFactory } from '../../src/platform/process/ids.ts';
import { createSilentLogger } from '../../src/platform/logging/logging.ts';
import { manifestPath, objectPath } from '../../src/snapshot/volume/layout.ts';
import { loadManifest } from '../../src/snapshot/manifest/manifest-loader.ts';
import type { SnapshotWriter } from '../../src/snapshot/snapshot-writer.ts';
import { openWriterAt } from './open-writer.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { act } from './actions.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { ScriptedUpstream } from './scripted-upstream.ts';

/** One day, in milliseconds. */
export const DAY = 86_400_000;

/** Faults to inject. */
export interface Script {
  /** Code that reaches this failpoint throws, as if the process had ended there. */
  failAt: string | null;
  /** Errors that methods of the writer fail with. */
  readonly broken: Map<string, NodeJS.ErrnoException>;
  freeBytes: number | null;
  /** When a sync that is not queued is planned, Unix seconds. */
  plannedSyncAt: number | null;
}

/** The collaborators of parts that are built on the releases. */
export interface WorldParts extends Pick<World, 'releases' | 'engine' | 'database' | 'clock'> {
  readonly root: string;
  readonly writer: SnapshotWriter;
  readonly pool: HashPool;
  readonly failpoints: Failpoints;
}

/** Creates jobs and actions of a part that is built on the releases. */
export type PartOnReleases = (parts: WorldParts) => {
  readonly jobs: readonly Job[];
  readonly actions: readonly DefinedAction[];
};

/** The releases of a daemon with a real database, a real store and an upstream in memory. */
export interface World {
  readonly root: string;
  readonly clock: FakeClock;
  readonly upstream: ScriptedUpstream;
  releases: Releases;
  engine: TaskEngine;
  database: Database;
  /** The actions of the releases and of the part on them. */
  actions: readonly DefinedAction[];
  readonly script: Script;
  /** Runs a control action and waits until its task has ended. */
  act(action: string, body?: Record<string, unknown>): Promise<Task>;
  /** The newest statement, its signature verified. */
  attested(): AttestationStatement;
  /** The newest statement on the volume. */
  onVolume(): Promise<AttestationStatement | null>;
  /** The bytes of a release on the volume, by destination, each hashed. */
  contents(snapshotId: string): Promise<Map<string, ManifestEntry>>;
  /** Overwrites the object of these bytes. */
  damage(content: string | Buffer, bad: string | null): Promise<void>;
  damageManifest(snapshotId: string): Promise<void>;
  /** Stops and starts the daemon. In between, its database or volume can be lost, or replaced by an older database. */
  restart(options?: {
    readonly database?: 'lost';
    readonly backup?: string;
    readonly volume?: 'lost';
    readonly start?: boolean;
  }): Promise<void>;
  row(releaseId: string): string | null;
}

const CONFIGURATION: ReleasesConfiguration = {
  attestationTtlSeconds: 600,
  maxVerifyAgeSeconds: 7 * 86_400,
  verifyAtBootAfterSeconds: 86_400,
  retention: { retained: 2, maxAgeSeconds: 7 * 86_400, keep: 2, graceSeconds: 86_400 },
  downloadConcurrency: 3,
  verifyConcurrency: 2,
  reserveBytes: 0,
  announceSeconds: 0,
  switchLeadSeconds: 15,
  // The tests start repairs themselves.
  automaticRepair: false,
};

/** What is different in a world. */
type WorldChange = Partial<ReleasesConfiguration> & {
  readonly withUpstream?: boolean;
  readonly downloadAttempts?: number;
  readonly part?: PartOnReleases;
};

/** Makes a world; it is removed when the test ends. */
export async function createWorld(change: WorldChange = {}): Promise<World> {
  const directory = await temporaryDirectory();
  const root = join(directory, 'store');
  // The store compares its files' times with the clock.
  const clock = new FakeClock(Math.floor(Date.now() / 1000) * 1000);
  const script: Script = { failAt: null, broken: new Map(), freeBytes: null, plannedSyncAt: null };
  const upstream = new ScriptedUpstream();
  const pool = createHashPool({ threads: 1 });
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const signingKeys: SigningKey[] = [{ keyId: keyIdOf(publicKey), privateKey }];
  const trusted: TrustedKey[] = [{ keyId: keyIdOf(publicKey), publicKey }];
  let boot = 0;
  let state = 1;
  // The same in every run, without repeats within a run.
  const nextRandom = (): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 16) % 32;
  };

  const open = async (): Promise<Pick<World, 'releases' | 'engine' | 'database' | 'actions'>> => {
    boot += 1;
    const database = openDatabase(join(directory, 'main.sqlite'));
    const failpoints = {
      hit: (name: string): void => {
        if (name === script.failAt) throw new Error(`stopped at ${name}`);
      },
    };
    const engine = createTaskEngine({
      database,
      clock,
      random: () => 0,
      createId: createUlidFactory({
        clock,
        randomBytes: (count) => Uint8Array.from({ length: count }, () => nextRandom()),
      }),
      logger: createSilentLogger(),
      bootId: `boot-${boot}`,
    });
    const events = createReleaseEvents({
      database,
      engine,
      subscribers: [],
      clock,
      logger: createSilentLogger(),
      failpoints,
    });
    const real = await openWriterAt({ root, failpoints, clock });
    const writer = new Proxy(real, {
      get: (target, name: keyof typeof real) => {
        const error = script.broken.get(name);
        if (error !== undefined) return () => Promise.reject(error);
        if (name === 'freeBytes' && script.freeBytes !== null) return () => Promise.resolve(script.freeBytes);
        return target[name];
      },
    });
    const {
      withUpstream = true,
      downloadAttempts = 1,
      part = () => ({ jobs: [], actions: [] }),
      ...configuration
    } = change;
    const releases = openReleases({
      database,
      root,
      writer,
      pool,
      upstream: createUpstreamSource(
        withUpstream
          ? {
              adapter: upstream,
              downloader: createDownloader({
                adapter: upstream,
                pool,
                clock,
                logger: createSilentLogger(),
                limits: {
                  maxAttempts: downloadAttempts,
                  backoffBaseMs: 1,
                  backoffCapMs: 1,
                  maxFileBytes: 1e9,
                },
              }),
              close: async () => undefined,
            }
          : null,
        () => undefined,
      ),
      engine,
      events,
      clock,
      random: () => 0,
      logger: createSilentLogger(),
      signingKeys: () => signingKeys,
      configuration: () => ({ ...CONFIGURATION, ...configuration }),
      plannedSyncAt: () => script.plannedSyncAt,
      crashLoop: () => null,
      failpoints,
      bootId: `boot-${boot}`,
      version: '0.1.0-test',
      otherWriter: false,
      onRecovered: () => undefined,
    });
    // No automatic retries: the tests retry themselves.
    const { jobs, actions } = part({ root, releases, engine, database, clock, writer, pool, failpoints });
    engine.jobs.register(...[...releases.jobs, ...jobs].map((job) => ({ ...job, maxAttempts: 1 })));
    return { releases, engine, database, actions: [...releases.actions, ...actions] };
  };

  const close = async (): Promise<void> => {
    await world.engine.stop(5000);
    await world.releases.stop();
    world.database.close();
  };

  const verified = (envelope: Buffer): AttestationStatement => {
    const result = verifyEnvelope(envelope, trusted);
    if (!result.ok) throw new Error(result.error.message);
    return result.value.statement;
  };

  const world: World = {
    root,
    clock,
    upstream,
    script,
    ...(await open()),
    act: async (action, body = {}) => {
      const { task } = await act(world.actions, action, body);
      return await ended(world.engine, task.task_id);
    },
    attested: () => {
      const current = world.releases.attestation.current();
      if (current === null) throw new Error('nothing is attested');
      return verified(current.envelope);
    },
    onVolume: async () => {
      const writer = await openWriterAt({ root, failpoints: { hit: () => undefined }, clock });
      const envelope = await writer.readCurrentAttestation();
      return envelope === null ? null : verified(envelope);
    },
    contents: async (snapshotId) => {
      const { index } = await loadManifest({ root, snapshotId: snapshotId as never, checkObjects: true });
      return new Map(index.entries(0, index.length).map((entry) => [entry.destination, entry]));
    },
    damage: async (content, bad) => {
      const path = objectPath(root, blake3Hex(Buffer.from(content)));
      if (bad === null) {
        await rm(path);
        return;
      }
      await chmod(path, 0o644);
      await writeFile(path, bad);
    },
    damageManifest: async (snapshotId) => {
      const digest = manifestDigestOf(snapshotId);
      if (digest === null) throw new Error(snapshotId);
      await chmod(manifestPath(root, digest), 0o644);
      await writeFile(manifestPath(root, digest), '{}\n');
    },
    restart: async (options = {}) => {
      await close();
      script.failAt = null;
      if (options.database === 'lost' || options.backup !== undefined) {
        for (const suffix of ['', '-wal', '-shm'])
          await rm(join(directory, `main.sqlite${suffix}`), { force: true });
      }
      if (options.volume === 'lost') await rm(root, { recursive: true });
      if (options.backup !== undefined) await copyFile(options.backup, join(directory, 'main.sqlite'));
      Object.assign(world, await open());
      world.engine.start();
      if (options.start !== false) await world.releases.start();
    },
    row: (releaseId) => world.releases.repository.named(releaseId)?.state ?? null,
  };
  onTestFinished(async () => {
    await close();
    await pool.close();
  });
  world.engine.start();
  await world.releases.start();
  return world;
}

/** A world whose release has been synced from these files; what it requested for that is forgotten. */
export async function createSyncedWorld(
  files: Readonly<Record<string, string>> = { a: 'one', b: 'two' },
  change: WorldChange = {},
): Promise<World> {
  const world = await createWorld(change);
  world.upstream.files = new Map(Object.entries(files));
  expect((await world.act('sync')).status).toBe('succeeded');
  world.upstream.opened.length = 0;
  return world;
}

/** Waits until a task has ended. */
export async function ended(engine: TaskEngine, taskId: string): Promise<Task> {
  return await new Promise((resolve) => {
    engine.onFinished((task) => {
      if (task.task_id === taskId) resolve(task);
    });
    const task = engine.get(taskId);
    if (task !== null && task.finished_at !== null) resolve(task);
  });
}
