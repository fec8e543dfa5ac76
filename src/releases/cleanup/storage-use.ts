import type { ReleaseParts } from '../release-parts.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import { quarantineDirectory } from '../../snapshot/volume/layout.ts';
import type { ReleaseRow } from '../records/release-row.ts';
import { oneRow } from '../records/sql.ts';
import { planRequestedCleanup } from './cleanup-request.ts';
import { lstat, opendir, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** The use of the snapshot volume, bytes. */
export interface StorageUse {
  readonly measuredAt: number;
  readonly totalBytes: number;
  readonly freeBytes: number;
  readonly currentBytes: number;
  /** Further objects of releases that a cleanup keeps, or of a release that is being fetched. */
  readonly retainedBytes: number;
  /** Objects that only releases beyond the limits contain, or none. */
  readonly reclaimableBytes: number;
  readonly quarantineBytes: number;
}

export interface StorageMeter {
  /**
   * The newest measurement, made again when it is old; `null` when none succeeded in time, or none for ten minutes. While one
   * takes long or fails, the previous one is given.
   */
  read(): Promise<StorageUse | null>;
}

/** Milliseconds between the end of a measurement and the next one: each reads the table of the objects. */
const MAX_AGE_MS = 60_000;
/** Milliseconds after which a measurement says nothing of the volume. */
const LAST_AGE_MS = 10 * 60_000;
const WAIT_MS = 1000;
/** Parts of the table of objects, by the first two digits of the digest; other work continues between two of them. */
const SLICES = 256;
/** A cleanup leaves at most 100 objects in the quarantine; more are not counted. */
const QUARANTINE_FILES = 1000;

const SLICE = `WITH held AS (
    SELECT k.size AS size,
      k.blake3 IN (SELECT value FROM json_each(:current_documents)) OR EXISTS (SELECT 1 FROM catalog_entry e
        WHERE e.blake3 = k.blake3 AND e.revision_id IN (SELECT value FROM json_each(:current))) AS current,
      k.blake3 IN (SELECT value FROM json_each(:kept_documents)) OR EXISTS (SELECT 1 FROM catalog_entry e
        WHERE e.blake3 = k.blake3 AND e.revision_id NOT IN (SELECT value FROM json_each(:surplus))) AS kept
    FROM known_object k WHERE k.blake3 >= :from AND k.blake3 < :to AND k.sound = 1)
  SELECT ifnull(sum(size) FILTER (WHERE current), 0) AS current,
    ifnull(sum(size) FILTER (WHERE kept AND NOT current), 0) AS retained,
    ifnull(sum(size) FILTER (WHERE NOT kept AND NOT current), 0) AS reclaimable FROM held`;

interface SliceRow {
  readonly current: number;
  readonly retained: number;
  readonly reclaimable: number;
}

/** Creates the meter; it measures when it is first asked. */
export function createStorageMeter(parts: ReleaseParts): StorageMeter {
  const { clock } = parts;
  const slice = parts.database.prepare(SLICE);
  let known: { readonly use: StorageUse; readonly atMs: number } | null = null;
  let triedAtMs = -Infinity;
  let running: Promise<void> | null = null;

  const measure = async (): Promise<void> => {
    const holders = holdersOf(parts);
    const sums = { current: 0, retained: 0, reclaimable: 0 };
    for (let index = 0; index < SLICES; index += 1) {
      const row = oneRow<SliceRow>(slice, { ...holders, ...bounds(index) });
      sums.current += row?.current ?? 0;
      sums.retained += row?.retained ?? 0;
      sums.reclaimable += row?.reclaimable ?? 0;
      await nextTurn();
    }
    const { blocks, bavail, bsize } = await statfs(parts.root);
    const use = {
      measuredAt: unixSeconds(clock),
      totalBytes: blocks * bsize,
      freeBytes: bavail * bsize,
      currentBytes: sums.current,
      retainedBytes: sums.retained,
      reclaimableBytes: sums.reclaimable,
      quarantineBytes: await quarantineBytes(parts.root),
    };
    known = { use, atMs: clock.monotonic() };
  };

  return {
    read: async () => {
      if (clock.monotonic() - triedAtMs >= MAX_AGE_MS) {
        // The checks of the doctor say why the volume cannot be read.
        running ??= measure()
          .catch(() => undefined)
          .finally(() => {
            running = null;
            triedAtMs = clock.monotonic();
          });
        await withinWait(running, clock);
      }
      return known !== null && clock.monotonic() - known.atMs < LAST_AGE_MS ? known.use : null;
    },
  };
}

type Holders = Readonly<Record<'current' | 'current_documents' | 'kept_documents' | 'surplus', string>>;

function holdersOf({ releases, configuration, clock }: ReleaseParts): Holders {
  const request = { dry_run: true, force: false };
  const { keep, remove } = planRequestedCleanup(
    releases,
    configuration().retention,
    request,
    unixSeconds(clock),
  );
  const current = keep.filter(({ why }) => why === 'current').map(({ release }) => release);
  const listOf = (rows: readonly ReleaseRow[], member: 'revision_id' | 'server_info_blake3'): string =>
    JSON.stringify(rows.flatMap((row) => row[member] ?? []));
  return {
    current: listOf(current, 'revision_id'),
    current_documents: listOf(current, 'server_info_blake3'),
    kept_documents: listOf(
      keep.map(({ release }) => release),
      'server_info_blake3',
    ),
    surplus: listOf(remove, 'revision_id'),
  };
}

function bounds(index: number): { readonly from: string; readonly to: string } {
  const hex = (value: number): string => value.toString(16).padStart(2, '0');
  // No digest begins with a letter after f.
  return { from: hex(index), to: index + 1 < SLICES ? hex(index + 1) : 'g' };
}

async function quarantineBytes(root: string): Promise<number> {
  let [bytes, files] = [0, 0];
  const directory = quarantineDirectory(root);
  for await (const { name } of await opendir(directory)) {
    if (files >= QUARANTINE_FILES) break;
    files += 1;
    bytes += await sizeOf(join(directory, name));
  }
  return bytes;
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await lstat(path)).size;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return 0;
    throw error;
  }
}

async function withinWait(work: Promise<void>, clock: Clock): Promise<void> {
  const ended = new AbortController();
  const late = clock.sleep(WAIT_MS, ended.signal).catch(() => undefined);
  try {
    await Promise.race([work, late]);
  } finally {
    ended.abort();
  }
}
