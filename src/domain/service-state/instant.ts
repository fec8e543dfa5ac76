/** An instant in messages, such as `2026-01-02T03:04:05Z`. */
export function instant(unixSeconds: number): string {
  return new Date(unixSeconds * 1000).toISOString().replace('.000Z', 'Z');
}
