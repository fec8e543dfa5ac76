/** The members of a result in words; pure. */

import { isRecord } from '../../domain/is-record.ts';
import { countNoun } from '../../domain/count-noun.ts';
import { namedRelease } from '../../domain/release/named-release.ts';
import { absolute, count, duration, percent, words, textBytes } from './format.ts';

const HIDDEN: ReadonlySet<string> = new Set(['generation']);

/** The members that a person reads. */
export function readableMembers(result: object): ReadonlyArray<readonly [name: string, value: unknown]> {
  return Object.entries(result).filter(([name]) => !HIDDEN.has(name));
}

/** A glance at a result: its release, the members that are true, and the numbers that are not zero. */
export function resultBrief(result: Readonly<Record<string, unknown>>, now: number, most: number): string {
  const members = readableMembers(result).flatMap(([name, value]) =>
    // An import counts its outcomes in a member of its own.
    isRecord(value) ? Object.entries(value).flatMap((each) => brief(each, now)) : brief([name, value], now),
  );
  return [namedRelease(result) ?? [], members.slice(0, most)].flat().join(' · ');
}

function brief([name, value]: readonly [string, unknown], now: number): readonly string[] {
  if (value === true) return [words(name).toLowerCase()];
  if (typeof value !== 'number' || value === 0) return [];
  const noun = countNoun(name.replace('entry_count', 'entries'), value);
  const text = numberText(name, value, now);
  return [noun === null ? `${memberLabel(name).toLowerCase()} ${text}` : `${text} ${noun}`];
}

/** A number with its unit. @param now Unix seconds */
export function numberText(name: string, value: number, now: number): string {
  if (/(?:^|_)(?:at|since|until)$|unix_seconds$/.test(name) && value > 1e9) return absolute(value, now);
  if (name.endsWith('bytes')) return textBytes(value);
  if (name.endsWith('seconds')) return duration(value);
  if (/(?:coverage|share|ratio)$/.test(name) && value >= 0 && value <= 1) return percent(value);
  return count(value);
}

/** The name of a member without its unit, which is in the text. */
export function memberLabel(name: string): string {
  return words(name.replace(/^seconds$/, 'took').replace(/_(?:bytes|seconds|at)$/, ''));
}
