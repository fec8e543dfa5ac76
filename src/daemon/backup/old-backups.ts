import type { StoredBackup } from './backup-list.ts';

/**
 * Chooses the backups to remove. A backup stays while it has one of the newest `keep` copies of any database, so a database
 * that can no longer be copied never loses its last good copies.
 *
 * @param backups the newest first
 * @returns the names of the others, the oldest first
 */
export function oldBackups(backups: readonly StoredBackup[], keep: number): readonly string[] {
  const copies = new Map<string, number>();
  const old = backups.filter(({ manifest }) => {
    const counts = manifest.databases.map(({ name }) => {
      const count = (copies.get(name) ?? 0) + 1;
      copies.set(name, count);
      return count;
    });
    return counts.every((count) => count > keep);
  });
  return old.map(({ name }) => name).toReversed();
}
