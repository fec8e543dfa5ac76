/** The code of a system error (`ENOENT`, `ECONNRESET`, ...), or `null` for any other error. */
export function errorCode(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}
