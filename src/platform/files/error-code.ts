/** The code of a system error (`ENOENT`, `ECONNRESET`, ...), or `null` for any other error. */
export function errorCode(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}

/** Error codes of a volume without free space. Source: errno(3). */
export const NO_SPACE: ReadonlySet<string | null> = new Set(['ENOSPC', 'EDQUOT']);
