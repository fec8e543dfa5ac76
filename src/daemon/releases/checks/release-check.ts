import type { ReleaseRecord } from '../../../contract/formats/release-record.ts';
import type { Blake3Hex } from '../../../domain/release/digest.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import type { HashPool } from '../../../platform/hashing/digests.ts';
import { loadManifest, type LoadedManifest } from '../../../snapshot/manifest/manifest-loader.ts';
import { verifyRelease } from '../../../snapshot/volume/release-verifier.ts';
import { SnapshotFault } from '../../../snapshot/volume/snapshot-fault.ts';
import type { SnapshotWriter } from '../../../snapshot/volume/snapshot-writer.ts';
import { TaskError, type TaskContext } from '../../tasks/task.ts';
import type { CatalogStore } from '../catalog/catalog-store.ts';
import type { DamageBook, DamagedObject } from './damage-book.ts';
import type { ObjectRegistry } from '../records/object-registry.ts';
import { recordOf } from '../records/release-record-of.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import type { ReleaseRow } from '../records/release-row.ts';
import type { SqlDatabase } from '../records/sql.ts';
import { messageOf } from '../task-errors.ts';

/** What was found of one release. */
export interface ReleaseFindings {
  /** What is wrong with the manifest or the record, or `null`. */
  readonly message: string | null;
  /** Objects that are missing or not as named, each once. */
  readonly damaged: readonly DamagedObject[];
  /** Entries looked at. */
  readonly entries: number;
  /** Unix seconds at which the look began; what was found sound was so at that time or later. */
  readonly startedAt: number;
}

/** What checking is made of. */
export interface ReleaseCheckDependencies {
  readonly root: string;
  readonly database: SqlDatabase;
  readonly releases: ReleaseRepository;
  readonly catalogs: CatalogStore;
  readonly objects: ObjectRegistry;
  readonly damage: DamageBook;
  readonly writer: Pick<SnapshotWriter, 'readReleaseRecord' | 'objectState'>;
  readonly pool: HashPool;
  readonly clock: Clock;
  /** Objects hashed at once. */
  readonly concurrency: () => number;
}

/** Compares releases with what is on the volume. */
export interface ReleaseCheck {
  /** Looks at the manifest, the record and the presence and size of every object, not at bytes. */
  look(release: ReleaseRow, signal: AbortSignal): Promise<ReleaseFindings>;
  /** Hashes every object, too. */
  examine(release: ReleaseRow, context: TaskContext): Promise<ReleaseFindings>;
  /**
   * Writes what was found into the database: damage withdraws the release and every other one that holds the same
   * object; a sound examination makes it sound again.
   *
   * @param bytes whether every byte was hashed
   * @returns whether the state of any release changed, so that a new attestation is due
   */
  record(release: ReleaseRow, findings: ReleaseFindings, bytes: boolean): Promise<boolean>;
  /** As `look`, for a release that is being registered. Throws TaskError `release_damaged` (retryable). */
  presence(release: ReleaseRow, signal: AbortSignal): Promise<void>;
  /** As `examine`, for a release that is being registered; the time it is sound since. Throws the same. */
  fully(release: ReleaseRow, context: TaskContext): Promise<number>;
}

/** Creates the check. */
export function createReleaseCheck(deps: ReleaseCheckDependencies): ReleaseCheck {
  const now = (): number => Math.floor(deps.clock.now() / 1000);

  const look = async (release: ReleaseRow, signal: AbortSignal): Promise<ReleaseFindings> => {
    const startedAt = now();
    const loaded = await load(deps.root, release, true, signal);
    const message = await recordProblem(deps, release);
    if (typeof loaded === 'string') return { message: loaded, damaged: [], entries: 0, startedAt };
    const damaged = new Map<Blake3Hex, DamagedObject>();
    for (const position of loaded.missing.indexes) {
      const blake3 = loaded.index.blake3(position);
      damaged.set(blake3, { blake3, status: 'missing' });
    }
    const { server_info: info } = loaded.index.header;
    if (info !== undefined && (await deps.writer.objectState(info.blake3, info.size)) !== 'ok') {
      damaged.set(info.blake3, { blake3: info.blake3, status: 'missing' });
    }
    return { message, damaged: [...damaged.values()], entries: loaded.index.length, startedAt };
  };

  const examine = async (release: ReleaseRow, context: TaskContext): Promise<ReleaseFindings> => {
    const startedAt = now();
    const loaded = await load(deps.root, release, false, context.signal);
    const message = await recordProblem(deps, release);
    if (typeof loaded === 'string') return { message: loaded, damaged: [], entries: 0, startedAt };
    const found = await verifyRelease({
      root: deps.root,
      index: loaded.index,
      pool: deps.pool,
      concurrency: deps.concurrency(),
      onProgress: (progress) => {
        context.progress(
          progress.bytes,
          loaded.index.header.total_bytes,
          'bytes',
          `verify ${release.release_id}`,
        );
      },
      signal: context.signal,
    });
    const damaged = new Map<Blake3Hex, DamagedObject>();
    for (const { blake3, status } of found.damaged) damaged.set(blake3, { blake3, status });
    const { server_info: info } = loaded.index.header;
    if (info !== undefined && found.serverInfo !== null && found.serverInfo !== 'ok') {
      damaged.set(info.blake3, { blake3: info.blake3, status: found.serverInfo });
    }
    return { message, damaged: [...damaged.values()], entries: loaded.index.length, startedAt };
  };

  const requireSound = async (release: ReleaseRow, findings: ReleaseFindings): Promise<void> => {
    if (isSound(findings)) return;
    await deps.damage.report(findings.damaged);
    throw new TaskError(
      'release_damaged',
      `release ${release.release_id} cannot be registered: ${describe(findings)}; the next attempt fetches what is missing`,
      { retryable: true, details: { damaged: findings.damaged.length } },
    );
  };

  return {
    look,
    examine,
    record: async (release, findings, bytes) => {
      const before = release.state;
      if (bytes && release.revision_id !== null && findings.entries > 0) {
        await confirmObjects(deps, release.revision_id, findings);
      }
      const withdrawn = await deps.damage.report(findings.damaged);
      if (findings.message !== null) deps.damage.reportRelease(release, findings.message);
      else deps.damage.clearMessage(release);
      deps.releases.update(release.channel, release.release_id, {
        checked_at: now(),
        ...(bytes && isSound(findings) ? { verified_at: findings.startedAt } : {}),
      });
      const recovered = deps.damage.reassess();
      const after = deps.releases.get(release.channel, release.release_id)?.state;
      return withdrawn.length > 0 || recovered.length > 0 || after !== before;
    },
    presence: async (release, signal) => {
      await requireSound(release, await look(release, signal));
    },
    fully: async (release, context) => {
      const findings = await examine(release, context);
      await requireSound(release, findings);
      if (release.revision_id !== null) await confirmObjects(deps, release.revision_id, findings);
      return findings.startedAt;
    },
  };
}

/** Whether nothing was found. */
export function isSound(findings: ReleaseFindings): boolean {
  return findings.message === null && findings.damaged.length === 0;
}

/** One clause that says what was found. */
export function describe(findings: ReleaseFindings): string {
  if (findings.message !== null) return findings.message;
  return `${findings.damaged.length} of its objects are missing or damaged`;
}

/** The manifest, or what is wrong with it. */
async function load(
  root: string,
  release: ReleaseRow,
  checkObjects: boolean,
  signal: AbortSignal,
): Promise<LoadedManifest | string> {
  if (release.snapshot_id === null) return 'the release has no manifest';
  try {
    return await loadManifest({ root, snapshotId: release.snapshot_id, checkObjects, signal });
  } catch (error) {
    if (error instanceof SnapshotFault) return `the manifest is ${error.kind}: ${error.message}`;
    throw error;
  }
}

async function recordProblem(deps: ReleaseCheckDependencies, release: ReleaseRow): Promise<string | null> {
  let found: ReleaseRecord | null;
  try {
    found = await deps.writer.readReleaseRecord(release.channel, release.release_id);
  } catch (error) {
    return `the release record cannot be read: ${messageOf(error)}`;
  }
  if (found === null) return 'the release record is missing';
  const expected = recordOf(release);
  return found.snapshot_id === expected.snapshot_id &&
    found.created_at === expected.created_at &&
    found.manifest.sha256 === expected.manifest.sha256
    ? null
    : 'the release record on the volume is not that of the database';
}

/** Notes of every object that was not found damaged that its bytes are as named. */
async function confirmObjects(
  deps: ReleaseCheckDependencies,
  revisionId: number,
  findings: ReleaseFindings,
): Promise<void> {
  const damaged = new Set(findings.damaged.map((object) => object.blake3));
  for await (const page of deps.catalogs.pages(revisionId, 'all')) {
    deps.database.transaction(() => {
      for (const { blake3 } of page) {
        if (blake3 !== null && !damaged.has(blake3)) deps.objects.confirm(blake3, findings.startedAt);
      }
    });
  }
}
