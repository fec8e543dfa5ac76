/** The releases part of a daemon, without its API, for children that tests kill. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import process from 'node:process';
import { loadSigningKeys } from '../../src/attestation/keys.ts';
import { parseEnvelope } from '../../src/contract/formats/attestation-format.ts';
import { openDatabase } from '../../src/engine/database/database.ts';
import type { Database } from '../../src/engine/database/sqlite-database.ts';
import type { EventSubscriber } from '../../src/engine/events/event-subscriber.ts';
import { createReleaseEvents } from '../../src/engine/events/release-events.ts';
import { openReleases, type Releases } from '../../src/releases/releases.ts';
import { createTaskEngine } from '../../src/engine/tasks/create-task-engine.ts';
import type { JobCall } from '../../src/engine/tasks/job.ts';
import type { TaskEngine } from '../../src/engine/tasks/task-engine.ts';
import type { Task } from '../../src/engine/tasks/task.ts';
import { connectUpstream } from '../../src/upstream/adapters/connect-upstream.ts';
import { createUpstreamSource } from '../../src/upstream/adapters/upstream-source.ts';
import { upstreamConfigurationSchema } from '../../src/upstream/upstream-config.ts';
import type { Failpoints } from '../../src/platform/files/failpoints.ts';
import type { HashPool } from '../../src/platform/hashing/digests.ts';
import { createHashPool } from '../../src/platform/hashing/hash-pool.ts';
import { createSilentLogger } from '../../src/platform/logging/logging.ts';
import { systemClock as clock } from '../../src/platform/process/clock.ts';
import { createUlidFactory } from '../../src/platform/process/ids.ts';
import type { SnapshotWriter } from '../../src/snapshot/snapshot-writer.ts';
import { openWriterAt } from './open-writer.ts';

/** The parts of such a daemon. The jobs of the releases are not registered yet. */
export interface ReleaseDaemon {
  readonly root: string;
  readonly engine: TaskEngine;
  readonly releases: Releases;
  readonly database: Database;
  readonly writer: SnapshotWriter;
  readonly pool: HashPool;
  /** Recovers as a daemon does at its start; the tasks begin to run. */
  start(): Promise<void>;
  /** Queues a job, or joins an equal one that is queued or runs, and waits until its task has ended. */
  run(call: JobCall): Promise<Task>;
  /** Waits until no task is queued or runs. */
  settle(): Promise<void>;
  /** Prints the newest statement on a line of its own. */
  printAttested(): void;
  stop(): Promise<void>;
}

/**
 * Opens the daemon over a folder.
 *
 * @param folder holds `upstream` (a directory upstream), `store`, `main.db` and `key.pem`
 */
export async function openReleaseDaemon(
  folder: string,
  {
    failpoints,
    subscribers = [],
  }: { readonly failpoints: Failpoints; readonly subscribers?: readonly EventSubscriber[] },
): Promise<ReleaseDaemon> {
  const logger = createSilentLogger();
  const bootId = `boot-${process.pid}`;
  const keys = await loadSigningKeys([join(folder, 'key.pem')]);
  if (!keys.ok) throw new Error(keys.error.join('; '));
  const { keys: signingKeys } = keys.value;
  const configuration = upstreamConfigurationSchema.parse({
    kind: 'directory',
    directory: { path: join(folder, 'upstream') },
  });
  const database = openDatabase(join(folder, 'main.db'));
  const pool = createHashPool({ threads: 1 });
  const connected = connectUpstream(configuration, { clock, pool, logger });
  const upstream = createUpstreamSource(connected, () => undefined);
  const root = join(folder, 'store');
  const createId = createUlidFactory({ clock, randomBytes });
  const engine = createTaskEngine({ database, clock, random: () => 0, createId, logger, bootId });
  const events = createReleaseEvents({ database, engine, subscribers, clock, logger, failpoints });
  const writer = await openWriterAt({ root, failpoints, clock });
  const releases = openReleases({
    database,
    root,
    writer,
    pool,
    upstream,
    engine,
    events,
    clock,
    random: () => 0.5,
    logger,
    signingKeys: () => signingKeys,
    configuration: () => ({
      attestationTtlSeconds: 600,
      maxVerifyAgeSeconds: 86_400,
      verifyAtBootAfterSeconds: 43_200,
      retention: { retained: 2, maxAgeSeconds: 86_400, keep: 3, graceSeconds: 86_400 },
      downloadConcurrency: 2,
      verifyConcurrency: 1,
      reserveBytes: 0,
      announceSeconds: 0,
      switchLeadSeconds: 15,
      automaticRepair: false,
    }),
    plannedSyncAt: () => null,
    crashLoop: () => null,
    failpoints,
    bootId,
    version: '0.1.0',
    otherWriter: false,
    onRecovered: () => undefined,
  });
  const settle = async (): Promise<void> => {
    while (engine.counts().queued + engine.counts().running > 0) await clock.sleep(10);
  };
  return {
    root,
    engine,
    releases,
    database,
    writer,
    pool,
    settle,
    start: async () => {
      engine.recover();
      events.start();
      await releases.start();
    },
    run: async (call) => {
      const ended = Promise.withResolvers<Task>();
      engine.onFinished((task) => {
        if (task.kind === call.kind) ended.resolve(task);
      });
      engine.submit({ ...call, dedupe: true });
      engine.start();
      return await ended.promise;
    },
    printAttested: () => {
      const envelope = parseEnvelope(releases.attestation.current()?.envelope ?? Buffer.alloc(0));
      if (!envelope.ok) throw new Error(envelope.error);
      const statement = JSON.parse(Buffer.from(envelope.value.payload, 'base64').toString('utf8')) as {
        predicate: unknown;
      };
      process.stdout.write(`${JSON.stringify(statement.predicate)}\n`);
    },
    stop: async () => {
      events.stop();
      await engine.stop(1000);
      await releases.stop();
      await upstream.close();
      await pool.close();
      database.close();
    },
  };
}
