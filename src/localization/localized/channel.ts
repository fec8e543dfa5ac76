import type { Blake3Hex } from '../../domain/release/digest.ts';
import type { HashPool } from '../../platform/hashing/digests.ts';
import type { Failpoints } from '../../platform/files/failpoints.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { SnapshotWriter } from '../../snapshot/snapshot-writer.ts';
import type { CatalogStore } from '../../releases/catalog/catalog-store.ts';
import type { Publisher } from '../../releases/publish/publish.ts';
import type { KnownObject } from '../../releases/records/entry-row.ts';
import type { ObjectRegistry } from '../../releases/records/object-registry.ts';
import type { ReleaseRepository } from '../../releases/records/release-repository.ts';
import type { TaskEngine } from '../../engine/tasks/task-engine.ts';
import type { CatalogRewriter } from './catalogs/catalog-rewriter.ts';
import type { Freezer } from './freeze/freezer.ts';
import type { PublishPolicy } from './freeze/frozen-release.ts';
import type { ContainerPatcher } from './patch/container-patcher.ts';
import type { RollbackRecords } from './rollback/rollback-records.ts';
import { oneRow, prepareAll, type SqlDatabase } from '../../releases/records/sql.ts';

export interface LocalizedChannel {
  readonly engine: TaskEngine;
  readonly releases: ReleaseRepository;
  readonly catalogs: CatalogStore;
  readonly objects: ObjectRegistry;
  readonly publisher: Publisher;
  readonly writer: SnapshotWriter;
  readonly pool: HashPool;
  readonly clock: Clock;
  readonly failpoints: Failpoints;
  readonly root: string;
  readonly dataDirectory: string;
  readonly exchangeRoot: () => string;
  /** The folder of files that were patched outside of Slipway. */
  readonly patchRoot: () => string;
  readonly policy: () => PublishPolicy;
  readonly rollbacks: RollbackRecords;
  readonly patched: PatchedContainers;
  readonly freezer: Freezer;
  /** The caller closes patcher and rewriter. @throws TaskError `rules_invalid` */
  readonly openBuilders: () => Promise<Builders>;
  readonly texts: ChannelTexts;
  /** Whether the parse index or the translation tasks are being built, or a task for it waits. */
  readonly isPreparing: () => boolean;
}

export interface Builders {
  readonly patcher: ContainerPatcher;
  readonly rewriter: CatalogRewriter;
  readonly concurrency: number;
}

/** The objects of patched containers by patch key. Equal keys have equal bytes, so an object in the store is used again. */
interface PatchedContainers {
  find(patchKey: Blake3Hex): Promise<KnownObject | null>;
  record(patchKey: Blake3Hex, object: KnownObject, nowSeconds: number): void;
  /** Forgets keys whose objects are no longer known. */
  forgetLost(): void;
}

/** Two localized releases; `to` is `null` when the channel is withdrawn. */
interface FromTo {
  readonly from: string;
  readonly to: string | null;
}

export interface ChannelTexts {
  /** Puts the units on hold whose text the rollback takes back. @returns how many */
  hold(taken: FromTo & { readonly reviewer: string | null; readonly reason: string | null }): Promise<number>;
  /** How many units {@link hold} would put on hold now. */
  countHolds(taken: FromTo, signal: AbortSignal): Promise<number>;
  /**
   * The number of texts that change for readers when one release takes the place of another, the first of them, and the first
   * files with such texts; `null` when the texts of one are not recorded.
   */
  compare(
    releases: FromTo,
    signal: AbortSignal,
  ): Promise<{
    readonly units: number;
    readonly changes: readonly object[];
    readonly files: readonly object[];
  } | null>;
  /** Marks the tasks as published whose texts are those of this release, and no others. */
  markPublished(localizedReleaseId: string | null): Promise<void>;
}

/** The points of a publish where a test can stop the process, in the order in which they are reached. */
export const LOCALIZED_FAILPOINTS = [
  'localized.texts.frozen',
  'localized.container.patched',
  'localized.containers.patched',
  'localized.objects.committed',
  'localized.revision.written',
  'localized.texts.recorded',
  'localized.release.current',
  'localized.tasks.marked',
] as const;

export const ROLLBACK_FAILPOINTS = [
  'localized.rollback.recorded',
  'localized.rollback.switched',
  'localized.rollback.held',
] as const;

export function hit(
  { failpoints }: { readonly failpoints: Failpoints },
  name: (typeof LOCALIZED_FAILPOINTS | typeof ROLLBACK_FAILPOINTS)[number],
): void {
  failpoints.hit(name);
}

export function patchedContainers(
  database: SqlDatabase,
  objects: ObjectRegistry,
  writer: SnapshotWriter,
): PatchedContainers {
  const statements = prepareAll(database, SQL);
  return {
    find: async (patchKey) => {
      const row = oneRow<{ blake3: Blake3Hex }>(statements.find, { patch_key: patchKey });
      const object = row === null ? null : objects.get(row.blake3);
      if (object === null || !object.sound) return null;
      return (await writer.objectState(object.blake3, object.size)) === 'ok' ? object : null;
    },
    record: (patchKey, { blake3, size }, nowSeconds) => {
      statements.record.run({ patch_key: patchKey, blake3, size, now: nowSeconds });
    },
    forgetLost: () => {
      statements.forgetLost.run();
    },
  };
}

const SQL = {
  find: 'SELECT blake3 FROM patched_container WHERE patch_key = :patch_key',
  record: `INSERT INTO patched_container (patch_key, blake3, size, patched_at)
    VALUES (:patch_key, :blake3, :size, :now)
    ON CONFLICT (patch_key) DO UPDATE SET blake3 = excluded.blake3, size = excluded.size, patched_at = excluded.patched_at`,
  forgetLost:
    'DELETE FROM patched_container WHERE NOT EXISTS (SELECT 1 FROM known_object o WHERE o.blake3 = patched_container.blake3)',
} as const;
