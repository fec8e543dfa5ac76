/** Times, sizes and counts in words; pure. */

const STEPS = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
] as const;

const COUNT = new Intl.NumberFormat('en');

/** A duration in seconds by its two largest units: `1 h 12 min`, `45 s`. */
export function duration(seconds: number): string {
  let rest = Math.max(0, Math.round(seconds));
  const parts: string[] = [];
  for (const [unit, size] of STEPS) {
    const whole = Math.floor(rest / size);
    rest -= whole * size;
    if (whole > 0) parts.push(`${whole} ${unit}`);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return parts.length === 0 ? '0 s' : parts.join(' ');
}

/**
 * The distance of an instant from now: `12 s ago`, `in 3 h`, `now`.
 *
 * @param at Unix seconds
 * @param now Unix seconds
 */
export function relative(at: number, now: number): string {
  const distance = Math.round(now - at);
  if (Math.abs(distance) < 2) return 'now';
  // One unit is enough at a glance; the absolute time is next to it.
  const [text = ''] = /^\d+ \w+/.exec(duration(Math.abs(distance))) ?? [];
  return distance > 0 ? `${text} ago` : `in ${text}`;
}

/**
 * An instant on the reader's clock: only the time for today, with the date for other days.
 *
 * @param at Unix seconds
 * @param now Unix seconds
 */
export function absolute(at: number, now: number): string {
  const date = new Date(at * 1000);
  const clock = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  const day = dayOf(date);
  return day === dayOf(new Date(now * 1000)) ? clock : `${day} ${clock}`;
}

/**
 * The instant in UTC, in the format of RFC 3339.
 *
 * @param at Unix seconds
 */
export function utc(at: number): string {
  const date = new Date(at * 1000);
  return Number.isNaN(date.getTime()) ? String(at) : date.toISOString().replace('.000', '');
}

const INSTANT = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

/**
 * Puts the instants of a message of the server on the reader's clock, as {@link absolute} does.
 *
 * @param now Unix seconds
 */
export function withReadersTimes(message: string, now: number): string {
  return message.replaceAll(INSTANT, (instant) => absolute(Date.parse(instant) / 1000, now));
}

/**
 * A message of the server as sentences for a reader: it begins with a capital letter, ends with a stop, and has the reader's times.
 *
 * @param now Unix seconds
 */
export function sentences(message: string, now: number): string {
  const text = withReadersTimes(message, now).trim();
  const begun = /^[a-z]+[ ,:]/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
  return begun === '' || /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}

/** A count with separated thousands. */
export function count(value: number | bigint): string {
  return COUNT.format(value);
}

/** A number with its noun, such as `1 unit` and `2 units`. @param many the noun of all numbers but one */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** A share from 0 to 1 as percent: `0 %`, `0.04 %`, `12 %`; never `100 %` of less than all, nor `0 %` of more than nothing. */
export function percent(share: number): string {
  const value = share * 100;
  if (value === 0 || value >= 10) return `${Math.floor(value)} %`;
  if (value < 0.01) return '< 0.01 %';
  const digits = value < 1 ? 100 : 10;
  return `${(Math.floor(value * digits + 1e-9) / digits).toFixed(value < 1 ? 2 : 1)} %`;
}

export { textBytes } from '../../domain/text-bytes.ts';

/** `next_run_unix_seconds` becomes `Next run unix seconds`. */
export function words(name: string): string {
  const text = name.replaceAll(/[-_.]/g, ' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}

function dayOf(date: Date): string {
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}
