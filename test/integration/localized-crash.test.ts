import { spawn, type ChildProcess } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { watch, type FSWatcher } from 'node:fs';
import { cp, readdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../../src/cli/dev/seeded-random.ts';
import { LOCALIZED_FAILPOINTS } from '../../src/daemon/localized/publish/localized-failpoints.ts';
import { ROLLBACK_FAILPOINTS } from '../../src/daemon/localized/rollback/rollback-task.ts';
import { RELEASE_FAILPOINTS } from '../../src/daemon/releases/jobs/release-failpoints.ts';
import type { AttestationStatement } from '../../src/domain/verdict/attestation.ts';
import { blake3Hex } from '../../src/platform/hashing/blake3.ts';
import { attestedFiles, type AttestedFiles } from '../support/attested-files.ts';
import { campaignSize } from '../support/long.ts';
import { writeReleaseTree } from '../support/release-tree.ts';
import { sharedFixture, type AtEnd } from '../support/shared-fixture.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const CHILD = resolve(import.meta.dirname, '../support/localized-daemon-child.ts');
/** Rounds of one campaign. Each campaign has a seed, a folder and a time limit of its own. */
const ROUNDS = 20;
const SEEDS = Array.from({ length: campaignSize(1, 10) }, (_, at) => 16 + at);
/** Failpoints that a job reaches, and changes of files that it makes, roughly: some rounds end without a kill. */
const MOST = {
  'localized-publish': { failpoints: 45, changes: 70 },
  'localized-rollback': { failpoints: 14, changes: 25 },
} as const;

const OFFICIAL = { 'a.csv': 'id,text\n1,こんにちは\n', 'b.txt': 'さようなら', 'c.bin': 'same' };

/** The files of the localized release with the texts of a version. Each version has other texts in every file with texts. */
function filesOf(version: number, official: Readonly<Record<string, string>> = OFFICIAL): AttestedFiles {
  const texts = { 'a.csv': `id,text\n1,你好 ${version}\n`, 'b.txt': `再见 ${version}` };
  return Object.fromEntries(
    Object.entries({ ...official, ...texts }).map(([name, content]) => [
      name,
      blake3Hex(Buffer.from(content)),
    ]),
  );
}

/** A job of the child, and where it is killed. */
interface Job {
  readonly kind: string;
  /** A failpoint, or the number of failpoints after which the child kills itself. */
  readonly place?: string;
  /** The number of changes in its folder after which it is killed from outside, wherever it is then. */
  readonly changes?: number;
}

interface Run {
  readonly signal: NodeJS.Signals | null;
  /** Attested after the recovery, after the job that a kill had interrupted, and after the job of this process. */
  readonly statements: readonly AttestationStatement[];
}

/** Writes the texts of a version, and runs a job. */
async function run(folder: string, version: number, { kind, place = '', changes }: Job): Promise<Run> {
  const translations = {
    'a.csv': { こんにちは: `你好 ${version}` },
    'b.txt': { さようなら: `再见 ${version}` },
  };
  await writeFile(join(folder, 'next.json'), JSON.stringify({ official: OFFICIAL, translations }));
  const child = spawn(process.execPath, [CHILD, folder, kind, place], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const statements: AttestationStatement[] = [];
  let watcher: FSWatcher | null = null;
  for await (const line of createInterface({ input: child.stdout })) {
    if (line === 'armed' && changes !== undefined) watcher = killAfter(changes, folder, child);
    else if (line.startsWith('{')) statements.push(JSON.parse(line) as AttestationStatement);
  }
  const [code, signal] = await exited;
  watcher?.close();
  if (signal === null) expect(code).toBe(0);
  return { signal, statements };
}

/** Kills a process after a number of changes in its folder. The place depends on the machine, and the expectations do not. */
function killAfter(changes: number, folder: string, child: ChildProcess): FSWatcher {
  let seen = 0;
  return watch(folder, { recursive: true }, () => {
    seen += 1;
    if (seen === changes) child.kill('SIGKILL');
  });
}

async function localizedFiles(
  folder: string,
  statement: AttestationStatement | undefined,
  officialId?: string,
): Promise<AttestedFiles> {
  return await attestedFiles(join(folder, 'store'), statement, officialId);
}

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
  await run(folder, 1, { kind: 'sync' });
  await run(folder, 1, { kind: 'localized-publish' });
  const last = (await run(folder, 2, { kind: 'localized-publish' })).statements.at(-1);
  expect(last?.localized).toMatchObject({ release_id: 'r1-l2', result: 'PASSED' });
  return { folder, version: last?.version ?? 0 };
}

const MOVED_ON = { ...OFFICIAL, 'c.bin': 'other' };

/** A folder whose official release has moved on since its localized one. */
async function moveOn(atEnd: AtEnd): Promise<{ folder: string; version: number }> {
  const { folder } = await publishTwo(atEnd);
  const files = new Map(Object.entries(MOVED_ON).map(([name, content]) => [name, Buffer.from(content)]));
  await writeReleaseTree(join(folder, 'upstream'), { id: 'r2', files });
  const last = (await run(folder, 2, { kind: 'sync' })).statements.at(-1);
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
      expect((await run(folder, 3, { kind, place })).signal).toBe('SIGKILL');
      const [recovered, settled] = (await run(folder, 3, { kind: 'none' })).statements;
      const wanted = filesOf(kind === 'localized-publish' ? 3 : 1);
      expect([filesOf(2), wanted]).toContainEqual(await localizedFiles(folder, recovered));
      expect(await localizedFiles(folder, settled)).toEqual(wanted);
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
      expect((await run(folder, 3, { kind: 'localized-follow', place })).signal).toBe('SIGKILL');
      const [recovered, settled] = (await run(folder, 3, { kind: 'none' })).statements;
      const wanted = filesOf(3, MOVED_ON);
      expect([null, wanted]).toContainEqual(await localizedFiles(folder, recovered, 'r2'));
      expect(await localizedFiles(folder, settled, 'r2')).toEqual(wanted);
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
      const history = new History([1, 2]);
      let version = two().version;
      let interrupted: Step | null = null;
      const kills = { inside: 0, outside: 0 };
      for (let round = 3; round < 3 + ROUNDS; round += 1) {
        const kind = random.below(3) === 0 ? 'localized-rollback' : 'localized-publish';
        const isOutside = round % 2 === 0;
        const job = isOutside
          ? { kind, changes: 1 + random.below(MOST[kind].changes) }
          : { kind, place: String(1 + random.below(MOST[kind].failpoints)) };
        const { signal, statements } = await run(folder, round, job);
        const [recovered, settled, ended] = statements;
        const expected = [history.files(), ...(interrupted === null ? [] : [interrupted.files])];
        expect(expected, `recovered in round ${round}`).toContainEqual(
          await localizedFiles(folder, recovered),
        );
        const after = await localizedFiles(folder, settled);
        expect(expected, `settled in round ${round}`).toContainEqual(after);
        // A process that is killed at a failpoint has recorded its task, which continues.
        if (interrupted !== null && !interrupted.mayBeLost) expect(after).toEqual(interrupted.files);
        if (interrupted !== null && isDeepStrictEqual(after, interrupted.files)) interrupted.take();
        version = expectRising(statements, version);
        const step = history.step(kind, round, isOutside);
        if (ended !== undefined) {
          expect(await localizedFiles(folder, ended)).toEqual(step.files);
          step.take();
        }
        if (signal === 'SIGKILL') kills[isOutside ? 'outside' : 'inside'] += 1;
        interrupted = ended === undefined ? step : null;
      }
      expect(kills.inside).toBeGreaterThan(ROUNDS / 5);
      expect(kills.outside).toBeGreaterThan(ROUNDS / 5);
    },
  );
});

/** The effect of a job on the history. */
interface Step {
  /** The files that are offered after it. */
  readonly files: AttestedFiles;
  /** Whether a kill can come before the task of the job is recorded. */
  readonly mayBeLost: boolean;
  /** Notes that it has taken effect. */
  take(): void;
}

/** The versions that were published, as far as a rollback goes back to them. The last one is offered. */
class History {
  readonly #versions: number[];

  constructor(versions: readonly number[]) {
    this.#versions = [...versions];
  }

  /** The files of the last version, or of one before it; `null` after a rollback without an earlier version. */
  files(at = -1): AttestedFiles {
    const version = this.#versions.at(at);
    return version === undefined ? null : filesOf(version);
  }

  step(kind: string, version: number, mayBeLost: boolean): Step {
    const take =
      kind === 'localized-publish' ? () => this.#versions.push(version) : () => this.#versions.pop();
    return { files: kind === 'localized-publish' ? filesOf(version) : this.files(-2), mayBeLost, take };
  }
}
