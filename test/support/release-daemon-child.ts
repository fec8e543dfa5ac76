/**
 * The releases part of a daemon, without its API: recovers, syncs once, and prints the attested releases after each. A
 * job `note` runs after a release became current.
 *
 * node test/support/release-daemon-child.ts FOLDER [FAILPOINT recovery|sync]
 *
 * FOLDER holds `upstream` (a directory upstream), `store`, `main.db` and `key.pem`. When the recovery or the sync
 * reaches the failpoint, the process kills itself with SIGKILL, which no handler sees.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import process from 'node:process';
import { z } from 'zod';
import { loadSigningKeys } from '../../src/attestation/keys.ts';
import { openDatabase } from '../../src/daemon/database/database.ts';
import { subscriber } from '../../src/daemon/events/event-subscriber.ts';
import { createReleaseEvents } from '../../src/daemon/events/release-events.ts';
import { SYNC_JOB } from '../../src/daemon/releases/jobs/release-jobs.ts';
import { createReleases } from '../../src/daemon/releases/releases.ts';
import { callOf, implementJob, type JobDefinition } from '../../src/daemon/tasks/job.ts';
import { createTaskEngine } from '../../src/daemon/tasks/create-task-engine.ts';
import { connectUpstream } from '../../src/daemon/upstream/adapters/connect-upstream.ts';
import { upstreamConfigurationSchema } from '../../src/daemon/upstream/upstream-config.ts';
import { createUpstreamSource } from '../../src/daemon/upstream/adapters/upstream-source.ts';
import { parseEnvelope } from '../../src/contract/formats/attestation-format.ts';
import { systemClock as clock } from '../../src/platform/process/clock.ts';
import { createHashPool } from '../../src/platform/hashing/hash-pool.ts';
import { createUlidFactory } from '../../src/platform/process/ids.ts';
import { createSilentLogger } from '../../src/platform/logging/logging.ts';
import { openSnapshotWriter } from '../../src/snapshot/snapshot-writer.ts';

const [folder = '', failpoint, phase] = process.argv.slice(2);
let armed = phase === 'recovery';
const failpoints = {
  hit: (name: string): void => {
    if (armed && name === failpoint) process.kill(process.pid, 'SIGKILL');
  },
};
const logger = createSilentLogger();
const bootId = `boot-${process.pid}`;
const keys = await loadSigningKeys([join(folder, 'key.pem')]);
if (!keys.ok) throw new Error(keys.error.join('; '));
const configuration = upstreamConfigurationSchema.parse({
  kind: 'directory',
  directory: { path: join(folder, 'upstream') },
});
const database = openDatabase(join(folder, 'main.db'));
const pool = createHashPool({ threads: 1 });
const upstream = createUpstreamSource(
  connectUpstream(configuration, { clock, pool, logger }),
  () => undefined,
);
const root = join(folder, 'store');
const engine = createTaskEngine({
  database,
  clock,
  random: () => 0,
  createId: createUlidFactory({ clock, randomBytes }),
  logger,
  bootId,
});
const NOTE_JOB = {
  kind: 'note',
  summary: 'Does nothing with the release that became current.',
  lane: 'i18n',
  scope: 'operate',
  groups: [],
  arguments: z.strictObject({ release_id: z.string() }),
  resumable: true,
  maxAttempts: 1,
  storeLock: 'none',
} as const satisfies JobDefinition;
const events = createReleaseEvents({
  database,
  engine,
  subscribers: [subscriber('note', NOTE_JOB, ({ release_id }) => ({ release_id }))],
  clock,
  logger,
  failpoints,
});
const releases = createReleases({
  database,
  root,
  writer: await openSnapshotWriter({ root, failpoints, clock }),
  pool,
  upstream,
  engine,
  events,
  clock,
  random: () => 0.5,
  logger,
  signingKeys: () => keys.value.keys,
  configuration: () => ({
    attestationTtlSeconds: 600,
    maxVerifyAgeSeconds: 86_400,
    verifyAtBootAfterSeconds: 43_200,
    retention: { retained: 2, maxAgeSeconds: 86_400, keep: 3, graceSeconds: 86_400 },
    downloadConcurrency: 2,
    verifyConcurrency: 1,
    reserveBytes: 0,
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
engine.jobs.register(
  ...releases.jobs.map((job) => ({ ...job, maxAttempts: 1 })),
  implementJob(NOTE_JOB, () => Promise.resolve({})),
);

/** Prints the newest statement on a line of its own. */
function printAttested(): void {
  const envelope = parseEnvelope(releases.attestation.current()?.envelope ?? Buffer.alloc(0));
  if (!envelope.ok) throw new Error(envelope.error);
  const statement = JSON.parse(Buffer.from(envelope.value.payload, 'base64').toString('utf8')) as {
    predicate: unknown;
  };
  process.stdout.write(`${JSON.stringify(statement.predicate)}\n`);
}

engine.recover();
events.start();
await releases.start();
printAttested();
armed = true;
const ended = Promise.withResolvers<void>();
engine.onFinished((task) => {
  if (task.kind !== 'sync') return;
  if (task.status === 'succeeded') ended.resolve();
  else ended.reject(new Error(`${task.failure_code}: ${task.failure_reason}`));
});
// Joins the sync that an earlier process left behind.
engine.submit({ ...callOf(SYNC_JOB, {}), dedupe: true });
engine.start();
await ended.promise;
printAttested();
// Waits until every queued note has ended too.
while (engine.counts().queued + engine.counts().running > 0) await clock.sleep(10);
events.stop();
await engine.stop(1000);
await releases.stop();
await upstream.close();
await pool.close();
database.close();
