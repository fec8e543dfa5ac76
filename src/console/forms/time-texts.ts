/** Durations and instants between what a person types and the seconds that the contract takes; pure. */

/** A unit of time, and its length in seconds. */
export const TIME_UNITS = [
  ['seconds', 1],
  ['minutes', 60],
  ['hours', 3600],
  ['days', 86_400],
  ['weeks', 604_800],
] as const;

interface TypedDuration {
  readonly amount: string;
  /** Seconds. */
  readonly unit: number;
}

/** Unit of a duration that is not typed yet, seconds. */
const FIRST_UNIT = 60;

/** A number of seconds as whole amount of the largest unit; other text stays as it is, in seconds. */
export function splitDuration(seconds: string): TypedDuration {
  if (seconds === '') return { amount: '', unit: FIRST_UNIT };
  if (!/^\d{1,19}$/.test(seconds) || BigInt(seconds) === 0n) return { amount: seconds, unit: 1 };
  const value = BigInt(seconds);
  const [, unit] = TIME_UNITS.findLast(([, size]) => value % BigInt(size) === 0n) ?? TIME_UNITS[0];
  return { amount: String(value / BigInt(unit)), unit };
}

/** The seconds of an amount of a unit; other text stays as it is, and the form then refuses it. */
export function joinDuration({ amount, unit }: TypedDuration): string {
  const text = amount.trim().replace(',', '.');
  if (/^\d{1,19}$/.test(text)) return String(BigInt(text) * BigInt(unit));
  return /^\d{1,9}\.\d{1,6}$/.test(text) ? String(Math.round(Number(text) * unit)) : amount;
}

/** Unix seconds as the value of a `datetime-local` input, by the reader's clock; empty for any other text. */
export function localTextOf(unixSeconds: string): string {
  const date = instantOf(unixSeconds);
  if (date === null) return '';
  const day = `${String(date.getFullYear()).padStart(4, '0')}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day}T${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** The value of a `datetime-local` input as Unix seconds; empty when it is incomplete. */
export function unixTextOf(local: string): string {
  const at = new Date(local).getTime();
  return Number.isNaN(at) ? '' : String(Math.floor(at / 1000));
}

/** The reader's time zone at an instant: `Europe/Berlin, UTC+02:00`. */
export function zoneText(date: Date): string {
  const name = new Intl.DateTimeFormat('en').resolvedOptions().timeZone;
  const minutes = -date.getTimezoneOffset();
  const clock = `${two(Math.floor(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}`;
  return name === 'UTC' ? 'UTC' : `${name}, UTC${minutes < 0 ? '-' : '+'}${clock}`;
}

/** The instant of Unix seconds in text; `null` for any other text, and for years that no calendar input takes. */
export function instantOf(unixSeconds: string): Date | null {
  if (!/^\d{1,12}$/.test(unixSeconds)) return null;
  const date = new Date(Number(unixSeconds) * 1000);
  return date.getFullYear() > 9999 ? null : date;
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}
