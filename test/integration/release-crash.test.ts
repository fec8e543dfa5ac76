import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { RETAINED_MAX_OF_CHANNEL } from '../../src/releases/records/retention-rules.ts';
import type { AttestationStatement } from '../../src/domain/verdict/attestation.ts';
import { EVENT_FAILPOINTS } from '../../src/engine/events/release-events.ts';
import { RELEASE_FAILPOINTS } from '../../src/releases/jobs/release-failpoints.ts';
import { createHashPool } from '../../src/platform/hashing/hash-pool.ts';
import { loadManifest } from '../../src/snapshot/manifest/manifest-loader.ts';
import { verifyRelease } from '../../src/snapshot/release-verifier.ts';
import { SNAPSHOT_FAILPOINTS, STAGING_FAILPOINT } from '../../src/snapshot/volume/snapshot-failpoints.ts';
import { FAST_ARGUMENTS } from '../support/image-node-options.ts';
import { crashFiles } from '../support/crash-files.ts';
import { campaignPart } from '../support/long.ts';
import { writeReleaseTree } from '../support/release-tree.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const CHILD = resolve(import.meta.dirname, '../support/release-daemon-child.ts');

/** A failpoint, and the phase of the process in which it kills. */
type Place = readonly [failpoint: string, phase: 'recovery' | 'sync'];

/**
 * Another test kills at the store's own failpoints. These are the failpoints that involve the daemon's database. The states that a
 * crash leaves between all writes of a sync are those of `crash-states.test.ts`.
 */
const PLACES: readonly Place[] = campaignPart<Place>(
  [
    ...[...RELEASE_FAILPOINTS, ...EVENT_FAILPOINTS].map((name) => [name, 'sync'] as const),
    ...SNAPSHOT_FAILPOINTS.filter((name) => /record\.renamed|history\.renamed|attestation\./.test(name)).map(
      (name) => [name, 'sync'] as const,
    ),
    [STAGING_FAILPOINT, 'sync'],
    ['snapshot.history.renamed', 'recovery'],
    ['release.attestation.published', 'recovery'],
  ],
  3,
);

interface Left {
  /** The temporary files of the store. */
  readonly temporary: readonly string[];
  /** The releases for which the subscribed job was queued, in the order of its tasks, and their status. */
  readonly notes: readonly (readonly [releaseId: string, status: string])[];
}

interface Run {
  readonly signal: NodeJS.Signals | null;
  /** Attested after the recovery, after the sync that a kill had interrupted, and after the sync of the next release. */
  readonly statements: readonly AttestationStatement[];
  /** What is there after the interrupted sync; `null` when the process was killed before. */
  readonly left: Left | null;
}

async function run(folder: string, place?: Place): Promise<Run> {
  const child = spawn(process.execPath, [...FAST_ARGUMENTS, CHILD, folder, ...(place ?? [])], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const output = text(child.stdout);
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  if (signal === null) expect(code).toBe(0);
  const lines = (await output).split('\n');
  const statements = lines.filter((line) => line.startsWith('{'));
  const left = lines.find((line) => line.startsWith('left '));
  return {
    signal,
    statements: statements.map((line) => JSON.parse(line) as AttestationStatement),
    left: left === undefined ? null : (JSON.parse(left.slice('left '.length)) as Left),
  };
}

/** One thread for all checks; an idle pool does not keep the process alive. */
const pool = createHashPool({ threads: 1 });

/** Hashes the current release of an attestation and the two before it. A round before has hashed the others. */
async function checkOffered(root: string, statement: AttestationStatement | undefined): Promise<void> {
  if (statement?.official === null || statement?.official === undefined)
    throw new Error('nothing is offered');
  for (const { snapshot_id: snapshotId, result } of [statement.official, ...statement.retained.slice(0, 2)]) {
    expect(result).toBe('PASSED');
    const { index } = await loadManifest({ root, snapshotId, checkObjects: false });
    expect((await verifyRelease({ root, index, pool, concurrency: 2 })).damagedCount).toBe(0);
  }
}

/** A folder with a key, and without a release. */
async function emptyFolder(): Promise<string> {
  const folder = await temporaryDirectory();
  const { privateKey } = generateKeyPairSync('ed25519');
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
  await writeFile(join(folder, 'key.pem'), pem, { mode: 0o600 });
  return folder;
}

async function offer(folder: string, round: number): Promise<void> {
  await writeReleaseTree(join(folder, 'next'), { id: `r${round}`, files: crashFiles(round) });
}

/** What a process must find of the ones before it. */
interface Expected {
  /** The number of the release whose sync was interrupted by a kill; the one before is current. */
  readonly round: number;
  /** The newest version of an attestation. */
  readonly version: number;
}

/**
 * Checks that a process offers the old or the new release after its recovery, and the new one after the interrupted sync.
 *
 * @param where is shown when it does not
 * @returns the newest version of an attestation
 */
async function checkContinued(
  root: string,
  { statements, left }: Run,
  { round, version }: Expected,
  where: string,
): Promise<number> {
  const [recovered, settled] = statements;
  expect([`r${round - 1}`, `r${round}`], where).toContain(recovered?.official?.release_id);
  expect(recovered?.version, where).toBeGreaterThan(version);
  expect(settled?.version, where).toBeGreaterThanOrEqual(recovered?.version ?? 0);
  expect(settled?.official, where).toMatchObject({ release_id: `r${round}`, result: 'PASSED' });
  const rounds = Array.from({ length: round }, (_, index) => `r${index + 1}`);
  const retained = settled?.retained.map((release) => release.release_id) ?? [];
  expect(rounds.slice(0, -1), where).toEqual(expect.arrayContaining(retained));
  expect(retained, where).toHaveLength(Math.min(round - 1, RETAINED_MAX_OF_CHANNEL));
  expect(retained, where).toContain(`r${round - 1}`);
  await checkOffered(root, recovered);
  await checkOffered(root, settled);
  expect(left, where).toEqual({ temporary: [], notes: rounds.map((id) => [id, 'succeeded']) });
  return settled?.version ?? version;
}

/** All processes share one folder: each recovers from the kill of the one before, and is then killed in its turn. */
it(
  'a daemon killed with SIGKILL at any place offers the old or the new release, whole, and queues the job of each switch once',
  { timeout: 600_000 },
  async () => {
    const folder = await emptyFolder();
    await offer(folder, 1);
    const first = (await run(folder)).statements.at(-1);
    expect(first?.official).toMatchObject({ release_id: 'r1', result: 'PASSED' });
    await offer(folder, 2);
    const [begin, ...places] = PLACES;
    expect((await run(folder, begin)).signal).toBe('SIGKILL');
    let [round, version] = [2, first?.version ?? 0];
    for (const [at, place] of [...places, null].entries()) {
      // A process that is killed in its recovery leaves it for the next one.
      await offer(folder, round + 1);
      const continued = await run(folder, place ?? undefined);
      expect(continued.signal, place?.join()).toBe(place === null ? null : 'SIGKILL');
      if (place?.[1] === 'recovery') continue;
      const where = `after a kill at ${PLACES[at]?.join(' in the ')}`;
      version = await checkContinued(join(folder, 'store'), continued, { round, version }, where);
      round += 1;
      if (place !== null) continue;
      const synced = continued.statements.at(-1);
      expect(synced?.version).toBeGreaterThan(version);
      expect(synced?.official).toMatchObject({ release_id: `r${round}`, result: 'PASSED' });
    }
  },
);
