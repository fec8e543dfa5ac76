/**
 * Publishes one release into a store and dies on the way:
 *
 * node test/support/store-writer-child.ts ROOT RELEASE VERSION [FAILPOINT]
 *
 * At the failpoint it kills itself with SIGKILL, which no handler sees. Without a failpoint it exits with 0.
 */
import process from 'node:process';
import { systemClock } from '../../src/platform/process/clock.ts';
import { createHashPool } from '../../src/platform/hashing/hash-pool.ts';
import { openWriterAt } from './open-writer.ts';
import { crashFiles } from './crash-files.ts';
import { storeRelease } from './store-release.ts';

const [root = '', release = '', version = '1', failpoint] = process.argv.slice(2);

const writer = await openWriterAt({
  root,
  clock: systemClock,
  failpoints: {
    hit: (name) => {
      if (name === failpoint) process.kill(process.pid, 'SIGKILL');
    },
  },
});
const pool = createHashPool({ threads: 1 });
const { snapshotId } = await storeRelease(writer, pool, { id: release, files: crashFiles(Number(version)) });
const envelope = Buffer.from(JSON.stringify({ release, snapshot_id: snapshotId, version: Number(version) }));
await writer.publishAttestation(envelope, Number(version));
await pool.close();
