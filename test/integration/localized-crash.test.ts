import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { cp, readdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../../src/cli/dev/seeded-random.ts';
import { LOCALIZED_FAILPOINTS } from '../../src/daemon/localized/publish/localized-failpoints.ts';
import { ROLLBACK_FAILPOINTS } from '../../src/daemon/localized/rollback/rollback-task.ts';
import { RELEASE_FAILPOINTS } from '../../src/daemon/releases/jobs/release-failpoints.ts';
import type { AttestationStatement } from '../../src/domain/verdict/attestation.ts';
import { blake3Hex } from '../../src/platform/hashing/blake3.ts';
import { createHashPool } from '../../src/platform/hashing/hash-pool.ts';
import { loadManifest } from '../../src/snapshot/manifest/manifest-loader.ts';
import { verifyRelease } from '../../src/snapshot/release-verifier.ts';
import { campaignSize } from '../support/long.ts';
import { writeReleaseTree } from '../support/release-tree.ts';
import { sharedFixture, type AtEnd } from '../support/shared-fixture.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const CHILD = resolve(import.meta.dirname, '../support/localized-daemon-child.ts');
/** Rounds of one campaign. Each campaign has a seed, a folder and a time limit of its own. */
const ROUNDS = 20;
const SEEDS = Array.from({ length: campaignSize(1, 10) }, (_, at) => 16 + at);
/** More than a publish reaches, so that some rounds end without a kill. */
const MOST_FAILPOINTS = 45;

const OFFICIAL = { 'a.csv': 'id,text\n1,こんにちは\n', 'b.txt': 'さようなら', 'c.bin': 'same' };

/** The file `a.csv` of the localized release with these texts. */
const localizedFile = (version: number): string => `id,text\n1,你好 ${version}\n`;

interface Run {
  readonly signal: NodeJS.Signals | null;
  /** Attested after the recovery, after the job that a kill had interrupted, and after the job of this process. */
  readonly statements: readonly AttestationStatement[];
}

/** Writes the texts of a version, and runs a job. */
async function run(folder: string, version: number, ...job: readonly string[]): Promise<Run> {
  const translations = { 'a.csv': { こんにちは: `你好 ${version}` }, 'b.txt': { さようなら: '再见' } };
  await writeFile(join(folder, 'next.json'), JSON.stringify({ official: OFFICIAL, translations }));
  const child = spawn(process.execPath, [CHILD, folder, ...job], { stdio: ['ignore', 'pipe', 'inherit'] });
  const output = text(child.stdout);
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  if (signal === null) expect(code).toBe(0);
  const lines = (await output).split('\n').filter((line) => line.startsWith('{'));
  return { signal, statements: lines.map((line) => JSON.parse(line) as AttestationStatement) };
}

/** Hashes all that is attested. @returns the BLAKE3 of `a.csv` in the localized release; `null` without one */
async function localizedText(
  folder: string,
  statement: AttestationStatement,
  officialId = 'r1',
): Promise<string | null> {
  const root = join(folder, 'store');
  expect(statement.official).toMatchObject({ release_id: officialId, result: 'PASSED' });
  const pool = createHashPool({ threads: 1 });
  try {
    let found: string | null = null;
    for (const release of [statement.official, statement.localized, ...statement.retained]) {
      if (release === null) continue;
      expect(release.result).toBe('PASSED');
      const { index } = await loadManifest({ root, snapshotId: release.snapshot_id, checkObjects: true });
      expect((await verifyRelease({ root, index, pool, concurrency: 2 })).damagedCount).toBe(0);
      const entries = index.entries(0, index.length);
      expect(entries.map(({ destination }) => destination)).toEqual(Object.keys(OFFICIAL));
      if (release === statement.localized) found = entries[0]?.blake3 ?? null;
    }
    return found;
  } finally {
    await pool.close();
  }
}

const digestOf = (version: number): string => blake3Hex(Buffer.from(localizedFile(version)));

/** Checks that versions only rise. */
function expectRising(statements: readonly (AttestationStatement | undefined)[], after: number): number {
  let last = after;
  for (const statement of statements) {
    expect(statement?.version).toBeGreaterThanOrEqual(last);
    last = statement?.version ?? last;
  }
  return last;
}

/** A folder with two localized releases, of versions 1 and 2. */
async function publishTwo(atEnd: AtEnd): Promise<{ folder: string; version: number }> {
  const folder = await temporaryDirectory(atEnd);
  const { privateKey } = generateKeyPairSync('ed25519');
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
  await writeFile(join(folder, 'key.pem'), pem, { mode: 0o600 });
  const files = new Map(Object.entries(OFFICIAL).map(([name, content]) => [name, Buffer.from(content)]));
  await writeReleaseTree(join(folder, 'upstream'), { id: 'r1', files });
  await writeFile(join(folder, 'texts.json'), '{}');
  await run(folder, 1, 'sync');
  await run(folder, 1, 'localized-publish');
  const last = (await run(folder, 2, 'localized-publish')).statements.at(-1);
  expect(last?.localized).toMatchObject({ release_id: 'r1-l2', result: 'PASSED' });
  return { folder, version: last?.version ?? 0 };
}

/** A folder whose official release has moved on since its localized one. */
async function moveOn(atEnd: AtEnd): Promise<{ folder: string; version: number }> {
  const { folder } = await publishTwo(atEnd);
  const next = { ...OFFICIAL, 'c.bin': 'other' };
  const files = new Map(Object.entries(next).map(([name, content]) => [name, Buffer.from(content)]));
  await writeReleaseTree(join(folder, 'upstream'), { id: 'r2', files });
  const last = (await run(folder, 2, 'sync')).statements.at(-1);
  expect(last).toMatchObject({ official: { release_id: 'r2' }, localized: null });
  return { folder, version: last?.version ?? 0 };
}

const SWITCH = ['release.attestation.signed', 'release.attestation.published', 'release.database.current'];

const PLACES: readonly (readonly [string, string])[] = [
  ...[...LOCALIZED_FAILPOINTS, ...RELEASE_FAILPOINTS].map((name) => [name, 'localized-publish'] as const),
  ...[...ROLLBACK_FAILPOINTS, ...SWITCH].map((name) => [name, 'localized-rollback'] as const),
];

describe('a daemon killed with SIGKILL', () => {
  const two = sharedFixture(publishTwo);

  it.each(PLACES)(
    'at %s of a %s offers the old or the new release, whole, and continues',
    async (place, kind) => {
      const folder = await temporaryDirectory();
      await cp(two().folder, folder, { recursive: true });
      expect((await run(folder, 3, kind, place)).signal).toBe('SIGKILL');
      const [recovered, settled] = (await run(folder, 3, 'none')).statements;
      const wanted = kind === 'localized-publish' ? 3 : 1;
      expect([digestOf(2), digestOf(wanted)]).toContain(await localizedText(folder, recovered!));
      expect(await localizedText(folder, settled!)).toBe(digestOf(wanted));
      expectRising([recovered, settled], two().version + 1);
      expect(await readdir(join(folder, 'store/tmp'))).toEqual([]);
    },
  );

  const moved = sharedFixture(moveOn);

  it.each([...LOCALIZED_FAILPOINTS, ...SWITCH])(
    'at %s of a release that follows by itself offers none or the new one, whole, and continues',
    async (place) => {
      const folder = await temporaryDirectory();
      await cp(moved().folder, folder, { recursive: true });
      expect((await run(folder, 3, 'localized-follow', place)).signal).toBe('SIGKILL');
      const [recovered, settled] = (await run(folder, 3, 'none')).statements;
      expect([null, digestOf(3)]).toContain(await localizedText(folder, recovered!, 'r2'));
      expect(await localizedText(folder, settled!, 'r2')).toBe(digestOf(3));
      expectRising([recovered, settled], moved().version + 1);
      expect(await readdir(join(folder, 'store/tmp'))).toEqual([]);
    },
  );

  it.each(SEEDS)(
    'at random places of publishes and rollbacks never offers anything else (seed %d)',
    // Each round starts a process twice.
    { timeout: 600_000 },
    async (seed) => {
      const folder = await temporaryDirectory();
      await cp(two().folder, folder, { recursive: true });
      const random = createRandom(seed);
      let version = two().version;
      let before: string | null = digestOf(2);
      let last: { readonly kind: string; readonly wanted: string } | null = null;
      let kills = 0;
      for (let round = 3; round < 3 + ROUNDS; round += 1) {
        const kind = random.below(3) === 0 ? 'localized-rollback' : 'localized-publish';
        const { signal, statements } = await run(
          folder,
          round,
          kind,
          String(1 + random.below(MOST_FAILPOINTS)),
        );
        const [recovered, settled] = statements;
        const found = await localizedText(folder, recovered!);
        const after = await localizedText(folder, settled!);
        if (last?.kind === 'localized-publish') {
          expect([before, last.wanted]).toContain(found);
          expect(after).toBe(last.wanted);
        } else if (last !== null && before !== null) {
          expect(after).not.toBe(before);
        }
        version = expectRising(statements, version);
        kills += signal === 'SIGKILL' ? 1 : 0;
        const end = statements[2];
        before = end === undefined ? after : await localizedText(folder, end);
        last = signal === null ? null : { kind, wanted: digestOf(round) };
      }
      expect(kills).toBeGreaterThan(ROUNDS / 2);
    },
  );
});
