const UNIT_SECONDS = { h: 3600, m: 60, s: 1 } as const;

/** Syntax of a duration: whole hours, minutes and seconds in this order, at least one of them. */
export const DURATION_PATTERN = /^([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,6}s)?$/;

/** Seconds of a duration such as `1h30m`. @returns `null` for text that is not a duration */
export function durationSeconds(text: string): number | null {
  if (text === '' || !DURATION_PATTERN.test(text)) return null;
  return [...text.matchAll(/([0-9]+)([hms])/g)].reduce(
    (sum, [, count = '0', unit = 's']) => sum + Number(count) * UNIT_SECONDS[unit as 'h' | 'm' | 's'],
    0,
  );
}
