import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { cp, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { LOCALIZED_FAILPOINTS, ROLLBACK_FAILPOINTS } from '../../src/localization/localized/channel.ts';
import { RELEASE_FAILPOINTS } from '../../src/releases/jobs/release-failpoints.ts';
import type { AttestationStatement } from '../../src/domain/verdict/attestation.ts';
import { blake3Hex } from '../../src/platform/hashing/blake3.ts';
import { attestedFiles, type AttestedFiles } from '../support/attested-files.ts';
import { FAST_ARGUMENTS } from '../support/image-node-options.ts';
import { campaignPart } from '../support/long.ts';
import { writeReleaseTree } from '../support/release-tree.ts';
import { sharedFixture, type AtEnd } from '../support/shared-fixture.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const CHILD = resolve(import.meta.dirname, '../support/localized-daemon-child.ts');
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

/** Jobs of the child, and where the last one is killed. */
interface Job {
  /** Names of jobs with commas between them. */
  readonly kind: string;
  /** The failpoint at which the child kills itself. */
  readonly place?: string;
}

interface Run {
  readonly signal: NodeJS.Signals | null;
  /** Attested after the recovery, after the job that a kill had interrupted, and after each job of this process. */
  readonly statements: readonly AttestationStatement[];
  /** What is in the temporary folder of the store after the job that a kill had interrupted. */
  readonly temporary: readonly string[];
}

/** Writes the texts of a version, and runs jobs. */
async function run(folder: string, version: number, { kind, place = '' }: Job): Promise<Run> {
  const translations = {
    'a.csv': { こんにちは: `你好 ${version}` },
    'b.txt': { さようなら: `再见 ${version}` },
  };
  await writeFile(join(folder, 'next.json'), JSON.stringify({ official: OFFICIAL, translations }));
  const child = spawn(process.execPath, [...FAST_ARGUMENTS, CHILD, folder, kind, place], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const statements: AttestationStatement[] = [];
  let temporary: readonly string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith('tmp ')) temporary = JSON.parse(line.slice(4)) as string[];
    else if (line.startsWith('{')) statements.push(JSON.parse(line) as AttestationStatement);
  }
  const [code, signal] = await exited;
  if (signal === null) expect(code).toBe(0);
  return { signal, statements, temporary };
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
async function publishTwo(atEnd: AtEnd): Promise<Folder> {
  const folder = await temporaryDirectory(atEnd);
  const { privateKey } = generateKeyPairSync('ed25519');
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
  await writeFile(join(folder, 'key.pem'), pem, { mode: 0o600 });
  await offer(folder, 'r1', OFFICIAL);
  await writeFile(join(folder, 'texts.json'), '{}');
  await run(folder, 1, { kind: 'sync,localized-publish' });
  const last = (await run(folder, 2, { kind: 'localized-publish' })).statements.at(-1);
  expect(last?.localized).toMatchObject({ release_id: 'r1-l2', result: 'PASSED' });
  return { folder, version: last?.version ?? 0 };
}

/** A folder of a daemon, and the newest version that was attested in it. */
interface Folder {
  readonly folder: string;
  readonly version: number;
}

async function copyOf({ folder, version }: Folder): Promise<Folder> {
  const copy = await temporaryDirectory();
  await cp(folder, copy, { recursive: true });
  return { folder: copy, version };
}

async function offer(folder: string, id: string, content: Readonly<Record<string, string>>): Promise<void> {
  const files = new Map(Object.entries(content).map(([name, text]) => [name, Buffer.from(text)]));
  await writeReleaseTree(join(folder, 'upstream'), { id, files });
}

const SWITCH = ['release.attestation.signed', 'release.attestation.published', 'release.database.current'];

/** Publishes and rollbacks that are killed at the failpoints that they reach. They alternate while there are rollbacks. */
function killsAtPlaces(): readonly Job[] {
  const kills = (kind: string, places: readonly string[]): Job[] =>
    campaignPart(places, 3).map((place) => ({ kind, place }));
  const publishes = kills('localized-publish', [...LOCALIZED_FAILPOINTS, ...RELEASE_FAILPOINTS]);
  const rollbacks = kills('localized-rollback', [...ROLLBACK_FAILPOINTS, ...SWITCH]);
  return publishes.flatMap((publish, at) => [publish, ...rollbacks.slice(at, at + 1)]);
}

/**
 * Runs jobs in a folder with two localized releases. Each process first recovers from the kill of the one before, and the last
 * one has no job.
 *
 * @returns whether each job was killed
 */
async function runJobs({ folder, version }: Folder, jobs: readonly Job[]): Promise<readonly boolean[]> {
  const history = new History([1, 2]);
  const killed: boolean[] = [];
  let last = version;
  let interrupted: Step | null = null;
  for (const [at, job] of [...jobs, { kind: 'none' }].entries()) {
    const { signal, statements, temporary } = await run(folder, 3 + at, job);
    const [recovered, settled, ended] = statements;
    const where = `after job ${at}, ${JSON.stringify(jobs[at - 1])}`;
    const expected = [history.files(), ...(interrupted === null ? [] : [interrupted.files])];
    expect(expected, `recovered ${where}`).toContainEqual(await localizedFiles(folder, recovered));
    const after = await localizedFiles(folder, settled);
    expect(expected, `settled ${where}`).toContainEqual(after);
    expect(temporary, where).toEqual([]);
    if (interrupted !== null) {
      // The process had recorded its task, which continues.
      expect(after, where).toEqual(interrupted.files);
      expect(recovered?.version, where).toBeGreaterThan(last);
      interrupted.take();
    }
    last = expectRising(statements, last);
    if (job.kind === 'none') break;
    killed.push(signal === 'SIGKILL');
    const step = history.step(job.kind, 3 + at);
    if (ended !== undefined) {
      expect(await localizedFiles(folder, ended)).toEqual(step.files);
      step.take();
    }
    interrupted = ended === undefined ? step : null;
  }
  return killed;
}

describe('a daemon killed with SIGKILL', { timeout: 600_000 }, () => {
  const two = sharedFixture(publishTwo);

  it('at failpoints of a publish and of a rollback offers the old or the new release, whole, and continues', async () => {
    const jobs = killsAtPlaces();
    const killed = await runJobs(await copyOf(two()), jobs);
    expect(jobs.filter((_, at) => killed[at] !== true)).toEqual([]);
  });

  it('at failpoints of a release that follows automatically offers none or the new one, whole, and continues', async () => {
    const { folder, version } = await copyOf(two());
    const official = (round: number): Record<string, string> => ({ ...OFFICIAL, 'c.bin': `other ${round}` });
    // The publish is the one of the test above.
    const places = campaignPart([...LOCALIZED_FAILPOINTS, ...SWITCH], 6);
    let last = version;
    for (let round = 3; round <= 3 + places.length; round += 1) {
      const place = places[round - 3];
      await offer(folder, `r${round}`, official(round));
      const job = place === undefined ? { kind: 'none' } : { kind: 'sync,localized-follow', place };
      const { signal, statements, temporary } = await run(folder, round, job);
      const [recovered, settled, moved] = statements;
      if (round > 3) {
        const [id, wanted, where] = [
          `r${round - 1}`,
          filesOf(round - 1, official(round - 1)),
          places[round - 4],
        ];
        expect([null, wanted], where).toContainEqual(await localizedFiles(folder, recovered, id));
        expect(await localizedFiles(folder, settled, id), where).toEqual(wanted);
        expect(recovered?.version, where).toBeGreaterThan(last);
        expect(temporary, where).toEqual([]);
      }
      last = expectRising(statements, last);
      if (place === undefined) break;
      expect(signal, place).toBe('SIGKILL');
      expect(moved).toMatchObject({ official: { release_id: `r${round}` }, localized: null });
    }
  });
});

/** The effect of a job on the history. */
interface Step {
  /** The files that are offered after it. */
  readonly files: AttestedFiles;
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

  step(kind: string, version: number): Step {
    const take =
      kind === 'localized-publish' ? () => this.#versions.push(version) : () => this.#versions.pop();
    return { files: kind === 'localized-publish' ? filesOf(version) : this.files(-2), take };
  }
}
