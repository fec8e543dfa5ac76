import type { DatabaseSync } from 'node:sqlite';

/** Up to this size, in bytes, one step checks the whole file: it takes less than a second. */
export const WHOLE_FILE_BYTES = 128 * 1024 * 1024;

/**
 * Checks the structure of a database in steps. SQLite cannot interrupt a check, so that of a large file takes one table
 * at a time; it does not look at free pages then.
 *
 * @param wholeFileBytes files up to this size are checked in one step
 * @returns gives the first finding of each step, `null` when it found nothing
 * @throws the error of SQLite, for a file that is too damaged to be read
 *
 * Source: sqlite.org/pragma.html, quick_check.
 */
export function* checkStructure(
  raw: DatabaseSync,
  wholeFileBytes: number = WHOLE_FILE_BYTES,
): Generator<string | null, void> {
  const bytes = numberOf(raw, 'page_count') * numberOf(raw, 'page_size');
  if (bytes <= wholeFileBytes) {
    yield firstFinding(raw, 'quick_check(1)');
    return;
  }
  const tables = raw.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`).all();
  for (const { name } of tables) {
    yield firstFinding(raw, `quick_check("${String(name).replaceAll('"', '""')}")`);
  }
}

function firstFinding(raw: DatabaseSync, pragma: string): string | null {
  const [finding = 'no answer'] = Object.values(raw.prepare(`PRAGMA ${pragma}`).get() ?? {});
  return finding === 'ok' ? null : String(finding);
}

function numberOf(raw: DatabaseSync, pragma: string): number {
  return Number(Object.values(raw.prepare(`PRAGMA ${pragma}`).get() ?? {})[0]);
}
