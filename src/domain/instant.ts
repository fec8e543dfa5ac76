/** An instant as RFC 3339 without fractions of a second, such as `2026-01-02T03:04:05Z`. */
export function instant(unixSeconds: number): string {
  return `${new Date(unixSeconds * 1000).toISOString().slice(0, 19)}Z`;
}
