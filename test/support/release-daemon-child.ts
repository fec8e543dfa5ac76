/**
 * A daemon's releases without its API: recovers, syncs once, and prints what is attested after each:
 *
 *   node test/support/release-daemon-child.ts FOLDER [FAILPOINT recovery|sync]
 *
 * FOLDER holds `upstream` (a directory upstream), `store`, `main.db` and `key.pem`. When it reaches the failpoint
 * in the recovery or in the sync, the process kills itself with SIGKILL, which no handler sees.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import process from 'node:process';
import { loadSigningKeys } from '../../src/attestation/keys.ts';
import { openDatabase } from '../../src/daemon/database/database.ts';
import { createReleases } from '../../src/daemon/releases/releases.ts';
import { createTaskEngine } from '../../src/daemon/tasks/create-task-engine.ts';
import { connectUpstream } from '../../src/daemon/upstream/connect-upstream.ts';
import { upstreamConfigurationSchema } from '../../src/daemon/upstream/upstream-config.ts';
import { createUpstreamSource } from '../../src/daemon/upstream/upstream-source.ts';
import { parseEnvelope } from '../../src/contract/formats/attestation-format.ts';
import { systemClock as clock } from '../../src/platform/process/clock.ts';
import { createHashPool } from '../../src/platform/hashing/hash-pool.ts';
import { createUlidFactory } from '../../src/platform/process/ids.ts';
import { createSilentLogger } from '../../src/platform/logging/logging.ts';
import { openSnapshotWriter } from '../../src/snapshot/volume/snapshot-writer.ts';

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
const releases = createReleases({
  database,
  root,
  writer: await openSnapshotWriter({ root, failpoints, clock }),
  pool,
  upstream,
  engine,
  clock,
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
    maxAttempts: 1,
  }),
  failpoints,
  bootId,
  version: '0.1.0',
});
for (const handler of releases.handlers) engine.register(handler);

/** Prints the newest statement on a line of its own. */
function printAttested(): void {
  const envelope = parseEnvelope(releases.attestation.current()?.envelope ?? Buffer.alloc(0));
  if (!envelope.ok) throw new Error(envelope.error);
  const statement = JSON.parse(Buffer.from(envelope.value.payload, 'base64').toString('utf8')) as {
    predicate: unknown;
  };
  process.stdout.write(`${JSON.stringify(statement.predicate)}\n`);
}

await releases.start();
printAttested();
armed = true;
const ended = Promise.withResolvers<void>();
engine.onFinished((task) => {
  if (task.kind !== 'sync') return;
  if (task.status === 'succeeded') ended.resolve();
  else ended.reject(new Error(`${task.failure_code}: ${task.failure_reason}`));
});
// One that an earlier process left behind is continued in place of a new one.
await releases.actions.get('sync')?.({}, { idempotencyKey: null, correlationId: 'test' });
engine.start();
await ended.promise;
printAttested();
await engine.stop(1000);
await releases.stop();
await upstream.close();
await pool.close();
database.close();
