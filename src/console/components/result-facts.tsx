import { isRecord } from '../../domain/is-record.ts';
import type { ComponentChildren, JSX } from 'preact';
import { useApp } from '../state/app.ts';
import { renderExact } from '../text/exact-json.ts';
import { count } from '../text/format.ts';
import { memberLabel, numberText, readableMembers } from '../text/result-words.ts';
import { Facts, RawText } from './text.tsx';

const MOST_ITEMS = 20;
/** Levels of members that are shown as members; deeper ones are only in the JSON. */
const MOST_LEVELS = 3;

/** The result of a task in words; its JSON is one press away. */
export function ResultFacts({ label, value }: { label: string; value: object }): JSX.Element {
  return (
    <div class="result">
      <Members value={value} level={0} />
      <JsonDetails label={label} value={value} />
    </div>
  );
}

/** The exact JSON of a value, folded. */
export function JsonDetails({ label, value }: { label: string; value: unknown }): JSX.Element {
  return (
    <details class="json-view">
      <summary>{`</> JSON · ${label}`}</summary>
      <RawText label={label} text={renderExact(value, 2)} />
    </details>
  );
}

function Members({ value, level }: { value: object; level: number }) {
  const now = useApp().now();
  return (
    <Facts
      rows={readableMembers(value).map(([name, member]) => [
        memberLabel(name),
        typeof member === 'number' ? numberText(name, member, now) : shown(member, level),
      ])}
    />
  );
}

function shown(value: unknown, level: number): ComponentChildren {
  if (value === null || value === undefined) return null;
  if (typeof value === 'boolean') return value ? 'Yes' : 'No';
  if (Array.isArray(value)) return value.length === 0 ? 'None' : <Items items={value} level={level} />;
  if (typeof value === 'number' || typeof value === 'bigint') return count(value);
  if (typeof value === 'string') return value;
  if (!isRecord(value)) return null;
  if (Object.keys(value).length === 0) return null;
  return level + 1 < MOST_LEVELS ? <Members value={value} level={level + 1} /> : null;
}

function Items({ items, level }: { items: readonly unknown[]; level: number }) {
  const now = useApp().now();
  const rest = items.length - MOST_ITEMS;
  return (
    <ul class="items">
      {items.slice(0, MOST_ITEMS).map((item, index) => (
        <li key={index}>{isRecord(item) ? flat(item, now) : shown(item, level + 1)}</li>
      ))}
      {rest > 0 ? <li class="muted">{`and ${count(rest)} more`}</li> : null}
    </ul>
  );
}

/** An object of a list in one line. @param now Unix seconds */
function flat(item: Readonly<Record<string, unknown>>, now: number): string {
  return Object.entries(item)
    .filter(([, value]) => value !== null && typeof value !== 'object')
    .map(([name, value]) => {
      const text = typeof value === 'number' ? numberText(name, value, now) : String(value);
      return `${memberLabel(name).toLowerCase()} ${text}`;
    })
    .join(', ');
}
