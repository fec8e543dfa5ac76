import { listBackups } from './backup-list.ts';

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
