import { instant } from '../../domain/instant.ts';

/** Unix seconds as metav1.Time is written; `undefined` for none. */
export function timestamp(unixSeconds: number | null | undefined): string | undefined {
  return unixSeconds === null || unixSeconds === undefined ? undefined : instant(unixSeconds);
}
