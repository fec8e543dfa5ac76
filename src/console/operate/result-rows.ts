/** The result of a task in words; pure. */

import { namedRelease } from '../../domain/release/named-release.ts';
import { absolute, bytes, count, duration, percent, words } from '../text/format.ts';

/** A member of a result. */
export type ResultRow = readonly [label: string, text: string];

/** Members that only programs need. */
const HIDDEN: ReadonlySet<string> = new Set(['generation']);
/** Items of a list that are shown. */
const SHOWN_ITEMS = 5;

/**
 * The members of a result that a person can read: numbers with their units, lists by their length and first items. A
 * group is shown by its members; deeper groups are only in the JSON.
 *
 * @param now Unix seconds
 */
export function resultRows(result: Readonly<Record<string, unknown>>, now: number): readonly ResultRow[] {
  return Object.entries(result).flatMap(([name, value]): readonly ResultRow[] => {
    if (HIDDEN.has(name)) return [];
    if (isGroup(value)) {
      return Object.entries(value).flatMap(([member, inner]) =>
        rowOf(`${name} ${member}`, member, inner, now),
      );
    }
    return rowOf(name, name, value, now);
  });
}

/** A glance at a result: its release, the members that are true, and the numbers that are not zero. */
export function resultBrief(result: Readonly<Record<string, unknown>>, now: number, most: number): string {
  const members = Object.entries(result).flatMap(([name, value]) => {
    if (HIDDEN.has(name) || value === false || value === null || value === 0) return [];
    if (value === true) return [words(name).toLowerCase()];
    const text = typeof value === 'number' ? numberText(name, value, now) : null;
    return text === null ? [] : [`${words(labelOf(name)).toLowerCase()} ${text}`];
  });
  return [namedRelease(result) ?? [], members.slice(0, most)].flat().join(' · ');
}

function rowOf(label: string, name: string, value: unknown, now: number): readonly ResultRow[] {
  const text = textOf(name, value, now);
  return text === null ? [] : [[words(labelOf(label)), text]];
}

function textOf(name: string, value: unknown, now: number): string | null {
  switch (typeof value) {
    case 'boolean':
      return value ? 'yes' : 'no';
    case 'number':
      return numberText(name, value, now);
    case 'bigint':
      return String(value);
    case 'string':
      return value === '' ? null : value;
    default:
      return Array.isArray(value) ? listText(value) : null;
  }
}

function numberText(name: string, value: number, now: number): string {
  if (/(?:^|_)(?:at|since|until)$|unix_seconds$/.test(name) && value > 1e9) return absolute(value, now);
  if (name.endsWith('bytes')) return bytes(value);
  if (name.endsWith('seconds')) return duration(value);
  if (/(?:coverage|share|ratio)$/.test(name) && value >= 0 && value <= 1) return percent(value);
  return count(value);
}

/** The unit is in the text. */
function labelOf(name: string): string {
  return name.replace(/^entry_count$/, 'entries').replace(/_(?:bytes|seconds|at)$/, '');
}

function listText(values: readonly unknown[]): string | null {
  const texts = values.filter((value) => typeof value === 'string' || typeof value === 'number').map(String);
  if (values.length === 0) return 'none';
  if (texts.length === 0) return count(values.length);
  const more = values.length - SHOWN_ITEMS;
  return `${texts.slice(0, SHOWN_ITEMS).join(', ')}${more > 0 ? ` and ${count(more)} more` : ''}`;
}

function isGroup(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
