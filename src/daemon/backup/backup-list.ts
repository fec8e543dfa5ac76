import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../../platform/files/error-code.ts';
import { type BackupManifest, readManifest } from './backup-manifest.ts';
import { rename, rm } from '../../platform/files/file-changes.ts';

/** One complete folder with a backup. */
export interface StoredBackup {
  /** Name of its folder. */
  readonly name: string;
  readonly manifest: BackupManifest;
}

const NAME = /^backup-(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d\.\d{3}Z)$/;
const PARTIAL = /^backup-[\dTZ.-]+\.partial$/;
/** Ends the name of a folder that is being written or removed. */
const PARTIAL_SUFFIX = '.partial';

/** The name of a backup while it is written or removed. */
export function partialName(name: string): string {
  return `${name}${PARTIAL_SUFFIX}`;
}

/**
 * Names a new backup by its time. The name always sorts after those that are there, also after the clock was set back.
 *
 * @param now Unix milliseconds
 */
export function newBackupName(existing: readonly string[], now: number): string {
  const newest = existing.toSorted().at(-1);
  const at = newest === undefined ? now : Math.max(now, timeOf(newest) + 1);
  return `backup-${new Date(at).toISOString().replaceAll(':', '-')}`;
}

function timeOf(name: string): number {
  return Date.parse(name.replace(NAME, '$1T$2:$3:$4'));
}

/** The names of the backups in a folder, the newest first; none when the folder is missing. */
export async function backupNames(folder: string): Promise<readonly string[]> {
  return (await namesIn(folder))
    .filter((name) => NAME.test(name))
    .toSorted()
    .toReversed();
}

/** The backups in a folder whose manifest can be read, the newest first. Reads one manifest at a time. */
export async function* listBackups(folder: string): AsyncGenerator<StoredBackup, void> {
  for (const name of await backupNames(folder)) {
    const manifest = await readManifest(join(folder, name));
    if (manifest.ok) yield { name, manifest: manifest.value };
  }
}

/** Removes what a crash left half-written or half-removed. */
export async function removePartial(folder: string): Promise<void> {
  for (const name of await namesIn(folder)) {
    if (PARTIAL.test(name)) await rm(join(folder, name), { recursive: true, force: true });
  }
}

/** Removes a backup. It loses its name first, so that a crash leaves no folder that only looks like a backup. */
export async function removeBackup(folder: string, name: string): Promise<void> {
  const partial = join(folder, partialName(name));
  await rename(join(folder, name), partial);
  await rm(partial, { recursive: true, force: true });
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

/** A backup that has every database which had a file. */
export interface CompleteBackup {
  /** Name of its folder. */
  readonly name: string;
  /** Unix seconds. */
  readonly created_at: number;
  readonly bytes: number;
}

/** The newest complete backup in a folder, or `null`. Throws the file system error. */
export async function newestComplete(folder: string): Promise<CompleteBackup | null> {
  for await (const { name, manifest } of listBackups(folder)) {
    if (manifest.failed.length > 0) continue;
    const bytes = manifest.databases.reduce((sum, copy) => sum + copy.bytes, 0);
    return { name, created_at: manifest.created_at, bytes };
  }
  return null;
}
