import type { ReleaseRecord } from '../../contract/formats/release-record.ts';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import { damageKindOf } from '../../domain/verdict/damage-kind.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import type { HashPool } from '../../platform/hashing/digests.ts';
import { messageOf } from '../../platform/errors.ts';
import { loadManifest, type LoadedManifest } from '../../snapshot/manifest/manifest-loader.ts';
import { verifyRelease } from '../../snapshot/release-verifier.ts';
import { SnapshotFault } from '../../snapshot/volume/snapshot-fault.ts';
import type { SnapshotWriter } from '../../snapshot/snapshot-writer.ts';
import { TaskError, type TaskContext, type TaskResult } from '../../engine/tasks/task.ts';
import type { CatalogStore } from '../catalog/catalog-store.ts';
import type { DamageAttestation, DamagedObject, ReleaseDamage } from './release-damage.ts';
import { requireStore } from './require-store.ts';
import type { StoredObjectInspector } from './stored-object-inspector.ts';
import type { DaemonDamageFinder } from '../records/damage-records.ts';
import type { ObjectRegistry } from '../records/object-registry.ts';
import { countedKinds } from '../records/release-failure.ts';
import { recordOf } from '../records/release-record-of.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import { documentOfRow, type ReleaseProblem, type ReleaseRow } from '../records/release-row.ts';
import type { SqlDatabase } from '../records/sql.ts';

export interface ReleaseFindings {
  readonly problem: ReleaseProblem | null;
  readonly damaged: readonly DamagedObject[];
  readonly entries: number;
  /** Unix seconds at the start of the check: an object found sound was sound at that time or later. */
  readonly startedAt: number;
}

export interface CheckOrigin {
  readonly bytes: boolean;
  readonly finder: DaemonDamageFinder;
}

/** Compares releases with the contents of the volume. Each check throws TaskError `store_unavailable` (retryable). */
export interface ReleaseCheck {
  /** Checks the manifest, the record, and the presence and size of every object, but not the bytes. */
  quick(release: ReleaseRow, signal: AbortSignal): Promise<ReleaseFindings>;
  /** As `quick`, and hashes every object. */
  full(release: ReleaseRow, context: TaskContext): Promise<ReleaseFindings>;
  /**
   * Writes findings into the database: damage withdraws the release and every other one that contains the same object;
   * a sound examination makes the release sound again.
   *
   * @returns whether the state of any release changed, so that a new attestation is due
   */
  record(release: ReleaseRow, findings: ReleaseFindings, origin: CheckOrigin): Promise<boolean>;
  /** As `quick`, for a release that is being registered. Throws TaskError `release_damaged`, retryable in a sync. */
  requirePresent(release: ReleaseRow, registrar: Registrar, signal: AbortSignal): Promise<void>;
  /**
   * As `full`, for a release that is being registered; returns the time since when it is sound. Throws the same error.
   */
  requireSound(release: ReleaseRow, registrar: Registrar, context: TaskContext): Promise<number>;
}

/** The kind of task that registers a release. Only a sync fetches objects, also for the localized releases of an origin. */
export type Registrar = 'sync' | 'publish';

const AFTER_REGISTRATION = {
  sync: { nextStep: 'the next attempt fetches the missing or damaged objects', retryable: true },
  publish: { nextStep: 'nothing was published. Run repair, then try again', retryable: false },
} as const satisfies Readonly<Record<Registrar, object>>;

/**
 * The failure of a registration whose release is damaged.
 *
 * @param problem the damage in one clause
 */
export function cannotRegister(
  { release_id: id }: ReleaseRow,
  registrar: Registrar,
  problem: string,
  details: TaskResult = {},
): TaskError {
  const { nextStep, retryable } = AFTER_REGISTRATION[registrar];
  const message = `release ${id} cannot be registered: ${problem}; ${nextStep}`;
  return new TaskError('release_damaged', message, { retryable, details });
}

interface ReleaseCheckOptions {
  readonly root: string;
  readonly database: SqlDatabase;
  readonly releases: ReleaseRepository;
  readonly catalogs: CatalogStore;
  readonly objects: ObjectRegistry;
  readonly damage: ReleaseDamage;
  readonly attestation: DamageAttestation;
  readonly inspector: StoredObjectInspector;
  readonly writer: SnapshotWriter;
  readonly pool: HashPool;
  readonly clock: Clock;
  readonly concurrency: () => number;
}

export function createReleaseCheck(options: ReleaseCheckOptions): ReleaseCheck {
  const requireSound = async (
    release: ReleaseRow,
    findings: ReleaseFindings,
    registrar: Registrar,
  ): Promise<void> => {
    if (isSound(findings)) return;
    const withdrawn = await options.damage.report(findings.damaged, registrar);
    if (withdrawn.length > 0) {
      // The damage is what the task reports; an attestation that fails is issued by the recheck.
      await options.attestation.issue('damage of a release that is being registered').catch(() => undefined);
    }
    throw cannotRegister(release, registrar, describe(findings), { damaged: findings.damaged.length });
  };

  const checked = async (findings: ReleaseFindings): Promise<ReleaseFindings> => {
    if (!isSound(findings)) await requireStore(options.root, options.writer);
    return findings;
  };

  return {
    quick: async (release, signal) => await checked(await checkQuickly(options, release, signal)),
    full: async (release, context) => await checked(await checkFully(options, release, context)),
    record: async (release, findings, { bytes, finder }) => {
      const { damage, releases } = options;
      const before = release.state;
      const damaged = await stillDamaged(options, findings);
      const current = { ...findings, damaged };
      const isHashed = bytes && findings.entries > 0;
      if (isHashed) await confirmObjects(options, release, findings);
      const withdrawn = await damage.report(damaged, finder);
      if (findings.problem !== null) damage.reportRelease(release, findings.problem, finder);
      else damage.clearProblem(release);
      releases.update(release.channel, release.release_id, {
        ...(isHashed ? { checked_at: findings.startedAt } : {}),
        ...(bytes && isSound(current) ? { verified_at: findings.startedAt } : {}),
      });
      const recovered = damage.reassess(isHashed ? soundDocument(release, findings) : []);
      const after = releases.get(release.channel, release.release_id)?.state;
      return withdrawn.length > 0 || recovered.length > 0 || after !== before;
    },
    requirePresent: async (release, registrar, signal) =>
      await requireSound(release, await checkQuickly(options, release, signal), registrar),
    requireSound: async (release, registrar, context) => {
      const findings = await checkFully(options, release, context);
      await requireSound(release, findings, registrar);
      await confirmObjects(options, release, findings);
      return findings.startedAt;
    },
  };
}

export function isSound(findings: ReleaseFindings): boolean {
  return findings.problem === null && findings.damaged.length === 0;
}

export function describe({ problem, damaged }: ReleaseFindings): string {
  if (problem !== null) return problem.message;
  const missing = damaged.filter(({ status }) => damageKindOf(status) === 'missing').length;
  return `${countedKinds(missing, damaged.length - missing)} ${damaged.length === 1 ? 'object' : 'objects'}`;
}

async function checkQuickly(
  options: ReleaseCheckOptions,
  release: ReleaseRow,
  signal: AbortSignal,
): Promise<ReleaseFindings> {
  const startedAt = unixSeconds(options.clock);
  const loaded = await load(options.root, release, true, signal);
  if ('reason' in loaded) return { problem: loaded, damaged: [], entries: 0, startedAt };
  const problem = await recordProblem(options, release);
  const damaged = new Map<Blake3Hex, DamagedObject>();
  for (const position of loaded.missing.indexes) {
    const blake3 = loaded.index.blake3(position);
    damaged.set(blake3, { blake3, status: 'missing' });
  }
  const info = documentOfRow(release);
  if (info !== null && (await options.writer.objectState(info.blake3, info.size)) !== 'ok') {
    damaged.set(info.blake3, { blake3: info.blake3, status: 'missing' });
  }
  return { problem, damaged: [...damaged.values()], entries: loaded.index.length, startedAt };
}

async function checkFully(
  options: ReleaseCheckOptions,
  release: ReleaseRow,
  context: TaskContext,
): Promise<ReleaseFindings> {
  const { root, pool } = options;
  const startedAt = unixSeconds(options.clock);
  const loaded = await load(root, release, false, context.signal);
  if ('reason' in loaded) return { problem: loaded, damaged: [], entries: 0, startedAt };
  const { index } = loaded;
  const problem = await recordProblem(options, release);
  const found = await verifyRelease({
    root,
    index,
    serverInfo: documentOfRow(release),
    pool,
    concurrency: options.concurrency(),
    onProgress: ({ bytes }) =>
      context.progress(bytes, index.header.total_bytes, 'bytes', `verify ${release.release_id}`),
    signal: context.signal,
  });
  const damaged = new Map<Blake3Hex, DamagedObject>();
  for (const { blake3, status } of found.damaged) damaged.set(blake3, { blake3, status });
  const info = documentOfRow(release);
  if (info !== null && found.serverInfo !== null && found.serverInfo !== 'ok') {
    damaged.set(info.blake3, { blake3: info.blake3, status: found.serverInfo });
  }
  return {
    problem,
    damaged: [...damaged.values()],
    entries: index.length,
    // The wall clock may have been set back since.
    startedAt: Math.min(startedAt, unixSeconds(options.clock)),
  };
}

async function load(
  root: string,
  release: ReleaseRow,
  checkObjects: boolean,
  signal: AbortSignal,
): Promise<LoadedManifest | ReleaseProblem> {
  if (release.snapshot_id === null) {
    return { reason: 'SnapshotMissing', message: 'the release has no manifest' };
  }
  try {
    return await loadManifest({ root, snapshotId: release.snapshot_id, checkObjects, signal });
  } catch (error) {
    if (error instanceof SnapshotFault) return problemOfFault(error);
    throw error;
  }
}

export function problemOfFault({ kind, message }: SnapshotFault): ReleaseProblem {
  return {
    reason: kind === 'missing' ? 'SnapshotMissing' : 'ManifestDamaged',
    message: `the manifest is ${kind}: ${message}`,
  };
}

async function recordProblem(
  { writer }: ReleaseCheckOptions,
  release: ReleaseRow,
): Promise<ReleaseProblem | null> {
  const problem = (message: string): ReleaseProblem => ({ reason: 'ManifestDamaged', message });
  let found: ReleaseRecord | null;
  try {
    found = await writer.readReleaseRecord(release.channel, release.release_id);
  } catch (error) {
    return problem(`the release record cannot be read: ${messageOf(error)}`);
  }
  if (found === null) return problem('the release record is missing');
  const expected = recordOf(release);
  return found.snapshot_id === expected.snapshot_id &&
    found.created_at === expected.created_at &&
    found.manifest.sha256 === expected.manifest.sha256
    ? null
    : problem('the release record on the volume differs from the database');
}

/**
 * The damaged objects of findings, without those that were repaired while the check ran: it read them before.
 *
 * @throws an error when the volume itself cannot be read
 */
async function stillDamaged(
  { objects, inspector }: ReleaseCheckOptions,
  { damaged, startedAt }: ReleaseFindings,
): Promise<readonly DamagedObject[]> {
  const remaining: DamagedObject[] = [];
  const { signal } = new AbortController();
  for (const object of damaged) {
    const known = objects.get(object.blake3);
    const isNewer = known?.sound === true && known.verifiedAt >= startedAt;
    if (isNewer && (await inspector.inspect(object.blake3, signal)) === 'ok') continue;
    remaining.push(object);
  }
  return remaining;
}

function soundDocument(
  { server_info_blake3: document }: ReleaseRow,
  { damaged }: ReleaseFindings,
): readonly Blake3Hex[] {
  return document === null || damaged.some(({ blake3 }) => blake3 === document) ? [] : [document];
}

async function confirmObjects(
  { catalogs, database, objects }: ReleaseCheckOptions,
  release: ReleaseRow,
  findings: ReleaseFindings,
): Promise<void> {
  const damaged = new Set(findings.damaged.map((object) => object.blake3));
  const document = release.server_info_blake3;
  if (document !== null && !damaged.has(document)) objects.confirm(document, findings.startedAt);
  if (release.revision_id === null) return;
  for await (const page of catalogs.pages(release.revision_id, 'all')) {
    database.transaction(() => {
      for (const { blake3 } of page) {
        if (blake3 !== null && !damaged.has(blake3)) objects.confirm(blake3, findings.startedAt);
      }
    });
  }
}
