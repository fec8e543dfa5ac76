import { instant } from '../../domain/instant.ts';
import type { Releases } from '../../releases/releases.ts';
import { stat, statfs } from 'node:fs/promises';
import { messageOf } from '../../platform/errors.ts';
import { NO_SPACE, errorCode } from '../../platform/files/error-code.ts';
import { writeProbe } from '../../platform/files/write-probe.ts';
import { renderStoreFormat } from '../../contract/formats/store-format.ts';
import { isFormatLost, readStoreFormat } from '../../snapshot/volume/snapshot-store.ts';
import { findWrongDirectories } from '../../snapshot/volume/store-directories.ts';
import { formatPath } from '../../snapshot/volume/layout.ts';
import type { SnapshotWriter } from '../../snapshot/snapshot-writer.ts';
import { ThreadError } from '../../platform/threads/thread.ts';
import { type OpenFilesNeed, openFilesProblem } from '../../platform/process/open-files.ts';
import { type Clock, unixSeconds } from '../../platform/process/clock.ts';
import { textBytes } from '../../domain/text-bytes.ts';
import type { StoreLease } from '../../snapshot/volume/store-lease.ts';
import type { RebuiltDatabase } from '../../engine/database/main-database.ts';
import type { Database } from '../../engine/database/sqlite-database.ts';
import { dataFolderError, describeStorageError } from '../../engine/database/storage-failure.ts';
import { type Supervision, isWantedEnd } from '../supervisor/supervision.ts';
import type { TaskEngine } from '../../engine/tasks/task-engine.ts';
import type { DoctorCheck, DoctorFinding, DoctorTrigger } from '../../engine/check.ts';
import { MEBIBYTE, SPACE_GONE_BYTES } from './data-space.ts';

const SPACE_LOW = 1024 * MEBIBYTE;
const WAL_LARGE = 256 * MEBIBYTE;
/** Checking the structure reads the whole file, so a result is reused for this time. */
const QUICK_CHECK_EVERY_MS = 3_600_000;
/**
 * Network file systems by the `f_type` of statfs(2). They are unsuitable for a database: its write-ahead log needs
 * memory that all readers share, and locks that work. Source: statfs(2), linux/magic.h; sqlite.org/wal.html,
 * "Overview".
 */
const NETWORK_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB'],
  [0x01021997, '9P'],
  [0x00c36400, 'Ceph'],
  [0x5346414f, 'AFS'],
]);
/** Crashes count for this time; this number of them within the shorter time is a loop. */
const CRASH_SECONDS = 3600;
const LOOP_SECONDS = 600;
const LOOP_CRASHES = 5;
const QUEUE_LONG = 100;

const ok = (message: string): DoctorFinding => ({ status: 'ok', message });
const degraded = (message: string): DoctorFinding => ({ status: 'degraded', message });
const failing = (message: string): DoctorFinding => ({ status: 'failing', message });

/**
 * Checks one database file: structure, schema, size of the write-ahead log.
 *
 * @param rebuilt the damaged file that the database replaces since the start, or `null`
 */
export function databaseCheck(
  id: string,
  database: Database,
  clock: Clock,
  rebuilt: RebuiltDatabase | null = null,
): DoctorCheck {
  // The structure was checked when the database was opened.
  let checkedAt = clock.monotonic();
  let finding: string | null = null;
  let unchecked: string | null = null;
  let isChecking = false;

  const check = async (): Promise<void> => {
    isChecking = true;
    try {
      finding = await database.checkStructure();
      checkedAt = clock.monotonic();
      unchecked = null;
    } catch (error) {
      // A thread that could not do its work says nothing about the file.
      if (error instanceof ThreadError) unchecked = error.message;
      else finding = messageOf(error);
    } finally {
      isChecking = false;
    }
  };

  return {
    id,
    run: async () => {
      const isDue = finding !== null || clock.monotonic() - checkedAt >= QUICK_CHECK_EVERY_MS;
      // A large file takes longer than a run of the doctor may: a later run reports the result.
      if (isDue && !isChecking) void check();
      if (finding !== null) {
        return failing(
          `damaged: ${finding}; restart the daemon: it keeps ${database.path} aside and rebuilds it from the volume`,
        );
      }
      if (unchecked !== null)
        return degraded(`its structure could not be checked: ${unchecked}; trying again`);
      if (rebuilt !== null) {
        return degraded(
          `it was damaged (${rebuilt.finding}) and is rebuilt since the start; the damaged file is ${rebuilt.keptAt}; check the disk; a restart ends this warning`,
        );
      }
      // The log does not exist after another connection closed the database cleanly.
      const wal = await stat(`${database.path}-wal`).catch(() => null);
      if (wal !== null && wal.size > WAL_LARGE) {
        return degraded(
          `the write-ahead log is ${textBytes(wal.size)} large; something blocks its checkpoint`,
        );
      }
      return ok(`sound, schema ${database.schemaVersion}`);
    },
  };
}

/** Checks whether this daemon may write to the snapshot volume. */
export function leaseCheck(lease: StoreLease): DoctorCheck {
  return {
    id: 'store.lease',
    run: () => {
      const { state, message } = lease.status();
      if (state === 'held' || state === 'expired') return ok(message);
      return state === 'lost' ? failing(message) : degraded(message);
    },
  };
}

/** Checks the snapshot volume: its owner, whether it is writable, and its free space. */
export function storeChecks(root: string, writer: SnapshotWriter, bootId: string): readonly DoctorCheck[] {
  return [
    {
      id: 'store.format',
      run: async () => {
        if (await isFormatLost(root)) {
          return failing(
            `FORMAT is missing or damaged; check the mount of ${root}; if it is the right volume, write this line to ${formatPath(root)}: ${renderStoreFormat(writer.storeId).trim()}`,
          );
        }
        const format = await readStoreFormat(root);
        const wrong = await findWrongDirectories(root);
        if (wrong.length > 0) {
          return failing(
            `no folder of the store, but a link or a file: ${wrong.join(', ')}; the next task moves it into the quarantine and creates the folder`,
          );
        }
        await writer.confirmVolume();
        return ok(`store ${format.store_id}, version ${format.version}`);
      },
    },
    {
      id: 'store.writable',
      run: async () => {
        const failure = await tryWriting(async () => {
          await writer.confirmVolume();
          await writer.probe(probeName(bootId));
        });
        return failure ?? ok('the snapshot store is writable');
      },
    },
    {
      id: 'store.space',
      run: async () => {
        const free = await writer.freeBytes();
        return { ...storeSpace(free), freeBytes: free };
      },
    },
  ];
}

function storeSpace(free: number): DoctorFinding {
  const message = `${textBytes(free)} are free`;
  if (free < SPACE_GONE_BYTES) return failing(`${message}; run release-cleanup or enlarge the volume`);
  return free < SPACE_LOW ? degraded(`${message}; a large release may not fit`) : ok(message);
}

/**
 * Checks the folder of the databases: whether it is writable, and on this machine. `data.space` checks its free space.
 *
 * @param look reads the file system of a folder; default statfs(2)
 */
export function dataChecks(
  directory: string,
  bootId: string,
  look: (path: string) => Promise<{ readonly type: number }> = statfs,
): readonly DoctorCheck[] {
  return [
    {
      id: 'data.writable',
      run: async () => {
        const failure = await tryWriting(
          async () => await writeProbe(directory, probeName(bootId)),
          dataFolderError,
        );
        return failure ?? ok('the folder of the databases is writable');
      },
    },
    {
      id: 'data.volume',
      run: async () => {
        const network = NETWORK_FILE_SYSTEMS.get((await look(directory)).type);
        if (network !== undefined) {
          return failing(
            `data.dir is on ${network}, where databases get damaged; move it to a local file system`,
          );
        }
        return ok('data.dir is on a local file system');
      },
    },
  ];
}

/** Checks the lanes: the running tasks, and whether work piles up. */
export function laneCheck(engine: TaskEngine): DoctorCheck {
  return {
    id: 'tasks.lanes',
    run: () => {
      const { queued, running, cancelling } = engine.counts();
      const names = engine
        .running()
        .map((task) => `${task.lane}: ${task.kind} ${task.task_id}`)
        .join(', ');
      const message = `${running + cancelling} running${names === '' ? '' : ` (${names})`}, ${queued} queued`;
      return queued > QUEUE_LONG ? degraded(`${message}; tasks are piling up`) : ok(message);
    },
  };
}

/**
 * Checks the strength of the daemon's token and keys; a server adds its own finding about its tokens.
 *
 * @param find gives one sentence for each weak one
 */
export function secretsCheck(find: () => Promise<readonly string[]>): DoctorCheck {
  return {
    id: 'secrets',
    run: async () => {
      const weak = await find();
      if (weak.length > 0) return degraded(weak.join('; '));
      return ok(
        "only the owner and the group can read the daemon's keys and token, and the daemon's token is long enough",
      );
    },
  };
}

/**
 * Checks whether the daemon may have as many files open as its settings need.
 *
 * @param limit as `readOpenFilesLimit` gives it
 */
export function openFilesCheck(limit: number | null, need: () => OpenFilesNeed): DoctorCheck {
  return {
    id: 'open_files',
    run: () => {
      const problem = openFilesProblem(limit, need());
      if (problem !== null) return (problem.isTooLow ? failing : degraded)(problem.message);
      return ok(`${limit ?? 'any number of'} files may be open, and ${need().recommended} are enough`);
    },
  };
}

/** Checks whether the daemon ended unexpectedly in the last hour, or keeps ending. */
export function processCheck(supervision: Supervision | null, clock: Clock): DoctorCheck {
  return { id: 'process', run: () => processFinding(supervision, clock) };
}

/** The message of the check `process` while the daemon is in a crash loop, or `null`. */
export function crashLoopOf(supervision: Supervision | null, clock: Clock): string | null {
  const { status, message } = processFinding(supervision, clock);
  return status === 'failing' ? message : null;
}

/** Since when the daemon is in a crash loop, Unix seconds; `null` when it is in none. */
export function crashLoopSinceOf(supervision: Supervision | null, clock: Clock): number | null {
  const { status, since = null } = processFinding(supervision, clock);
  return status === 'failing' ? since : null;
}

function processFinding(supervision: Supervision | null, clock: Clock): DoctorFinding {
  const now = unixSeconds(clock);
  const crashes = (supervision?.ends ?? []).filter(
    (end) => !isWantedEnd(end) && now - end.at < CRASH_SECONDS,
  );
  const [first] = crashes;
  const last = crashes.at(-1);
  if (first === undefined || last === undefined) {
    return ok(supervision === null ? 'no supervisor runs the daemon' : 'no unexpected exits');
  }
  const how = last.signal ?? `exit code ${String(last.code)}`;
  const times = crashes.length === 1 ? 'once' : `${crashes.length} times`;
  const message = `the daemon ended unexpectedly ${times} in the last hour, last with ${how} at ${instant(last.at)} after ${last.lived_seconds} s; see the log before that time`;
  const isLoop = crashes.filter(({ at }) => now - at < LOOP_SECONDS).length >= LOOP_CRASHES;
  return { ...(isLoop ? failing(`crash loop: ${message}`) : degraded(message)), since: first.at };
}

/** A leftover of this name is removed at the next start. */
function probeName(bootId: string): string {
  return `.doctor-${bootId}.tmp`;
}

/**
 * Tries to write to a folder.
 *
 * @param named gives an error of the file system the words for this folder
 * @returns the failure, or `null`
 */
async function tryWriting(
  write: () => Promise<void>,
  named: (error: unknown) => unknown = (error) => error,
): Promise<DoctorFinding | null> {
  try {
    await write();
    return null;
  } catch (error) {
    const lacksSpace = NO_SPACE.has(errorCode(error) ?? null);
    return { ...failing(describeStorageError(named(error))), lacksSpace };
  }
}

/** Maximum wait for a check of the store, milliseconds; then the check reports the known facts. */
const STORE_CHECK_MS = 1500;
/**
 * Maximum age of a check of the store, milliseconds. It loads every current manifest and looks for every object of it:
 * about one second of processor time for 200,000 files.
 */
export const STORE_CHECK_MAX_AGE_MS = {
  request: 15_000,
  interval: 15 * 60_000,
} as const satisfies Record<DoctorTrigger, number>;

/** The checks of the releases. That of the verification checks the store first. */
export function releaseChecks(releases: Releases): readonly DoctorCheck[] {
  return releases.diagnostics().map(({ id }): DoctorCheck => ({
    id,
    run: async (_signal, trigger = 'request') => {
      if (id === 'verification') await releases.checkStore(STORE_CHECK_MS, STORE_CHECK_MAX_AGE_MS[trigger]);
      return (
        releases.diagnostics().find((found) => found.id === id) ?? {
          status: 'failing',
          message: 'it has no status',
        }
      );
    },
  }));
}
