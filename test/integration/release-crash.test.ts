import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { cp, readdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import type { AttestationStatement } from '../../src/domain/verdict/attestation.ts';
import { openDatabase } from '../../src/daemon/database/database.ts';
import { EVENT_FAILPOINTS } from '../../src/daemon/events/release-events.ts';
import { RELEASE_FAILPOINTS } from '../../src/daemon/releases/jobs/release-failpoints.ts';
import { createHashPool } from '../../src/platform/hashing/hash-pool.ts';
import { loadManifest } from '../../src/snapshot/manifest/manifest-loader.ts';
import { verifyRelease } from '../../src/snapshot/release-verifier.ts';
import { SNAPSHOT_FAILPOINTS, STAGING_FAILPOINT } from '../../src/snapshot/volume/snapshot-failpoints.ts';
import { crashFiles } from '../support/crash-files.ts';
import { writeReleaseTree } from '../support/release-tree.ts';
import { sharedFixture, type AtEnd } from '../support/shared-fixture.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const CHILD = resolve(import.meta.dirname, '../support/release-daemon-child.ts');

/** Another test kills at the store's own failpoints. These are the failpoints that involve the daemon's database. */
const PLACES: readonly (readonly [string, 'recovery' | 'sync'])[] = [
  ...[...RELEASE_FAILPOINTS, ...EVENT_FAILPOINTS].map((name) => [name, 'sync'] as const),
  ...SNAPSHOT_FAILPOINTS.filter((name) => /record\.renamed|history\.renamed|attestation\./.test(name)).map(
    (name) => [name, 'sync'] as const,
  ),
  [STAGING_FAILPOINT, 'sync'],
  ['snapshot.history.renamed', 'recovery'],
  ['release.attestation.published', 'recovery'],
];

interface Run {
  readonly signal: NodeJS.Signals | null;
  /** Attested after the recovery, and after the sync. */
  readonly statements: readonly AttestationStatement[];
}

async function run(folder: string, ...place: readonly string[]): Promise<Run> {
  const child = spawn(process.execPath, [CHILD, folder, ...place], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const output = text(child.stdout);
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  if (signal === null) expect(code).toBe(0);
  const statements = (await output).split('\n').filter((line) => line !== '');
  return { signal, statements: statements.map((line) => JSON.parse(line) as AttestationStatement) };
}

/** Hashes everything that an attestation offers. */
async function checkOffered(root: string, statement: AttestationStatement | undefined): Promise<void> {
  if (statement?.official === null || statement?.official === undefined)
    throw new Error('nothing is offered');
  const pool = createHashPool({ threads: 1 });
  try {
    for (const { snapshot_id: snapshotId, result } of [statement.official, ...statement.retained]) {
      expect(result).toBe('PASSED');
      const { index } = await loadManifest({ root, snapshotId, checkObjects: false });
      expect((await verifyRelease({ root, index, pool, concurrency: 2 })).damagedCount).toBe(0);
    }
  } finally {
    await pool.close();
  }
}

/** The releases for which the subscribed job has run, in the order of its tasks. */
function noted(folder: string): unknown[] {
  const database = openDatabase(join(folder, 'main.db'));
  try {
    return database
      .prepare("SELECT args_json, status FROM task WHERE kind = 'note' ORDER BY seq")
      .all()
      .map(({ args_json: args, status }) => [
        (JSON.parse(String(args)) as { release_id: string }).release_id,
        status,
      ]);
  } finally {
    database.close();
  }
}

/** A folder with the first release synced, and its attestation. */
interface FirstRelease {
  readonly folder: string;
  readonly statement: AttestationStatement;
}

async function syncFirstRelease(atEnd: AtEnd): Promise<FirstRelease> {
  const folder = await temporaryDirectory(atEnd);
  const { privateKey } = generateKeyPairSync('ed25519');
  await writeFile(join(folder, 'key.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }), {
    mode: 0o600,
  });
  await writeReleaseTree(join(folder, 'upstream'), { id: 'r1', files: crashFiles(1) });
  const statement = (await run(folder)).statements.at(-1);
  expect(statement?.official).toMatchObject({ release_id: 'r1', result: 'PASSED' });
  return { folder, statement: statement! };
}

describe('a daemon killed with SIGKILL', () => {
  const first = sharedFixture(syncFirstRelease);

  it.each(PLACES)(
    'at %s in the %s offers the old or the new release, whole, and queues the job of each switch once',
    async (...place) => {
      const folder = await temporaryDirectory();
      const root = join(folder, 'store');
      await cp(first().folder, folder, { recursive: true });
      await writeReleaseTree(join(folder, 'upstream'), { id: 'r2', files: crashFiles(2) });
      expect((await run(folder, ...place)).signal).toBe('SIGKILL');

      const again = await run(folder);
      const [recovered, synced] = again.statements;
      expect(['r1', 'r2']).toContain(recovered?.official?.release_id);
      expect(recovered?.version).toBeGreaterThan(first().statement.version);
      expect(synced?.version).toBeGreaterThan(recovered?.version ?? 0);
      expect(synced?.official).toMatchObject({ release_id: 'r2', result: 'PASSED' });
      expect(synced?.retained.map((release) => release.release_id)).toEqual(['r1']);
      await checkOffered(root, recovered);
      await checkOffered(root, synced);
      expect(await readdir(join(root, 'tmp'))).toEqual([]);
      expect(noted(folder)).toEqual([
        ['r1', 'succeeded'],
        ['r2', 'succeeded'],
      ]);
    },
  );
});
