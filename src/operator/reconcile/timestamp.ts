/** Unix seconds as RFC 3339 without fractions, as metav1.Time is written. */
export function timestamp(unixSeconds: number | null | undefined): string | undefined {
  if (unixSeconds === null || unixSeconds === undefined) return undefined;
  return `${new Date(unixSeconds * 1000).toISOString().slice(0, 19)}Z`;
}
