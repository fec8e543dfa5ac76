import { isXmlText } from '../../xml/xml-text.ts';
import type { UnitRecord } from '../unit-record.ts';
import { JSON_SUFFIX, OWN } from './xliff-names.ts';

/** A value of ours, for a note or a context that holds only text. */
export interface OwnValue {
  readonly name: string;
  readonly text: string;
}

/** The values of a record that XLIFF has no element for; without the previous texts. */
export function ownValues({ locator, context }: UnitRecord): OwnValue[] {
  return [
    ...ownValue(OWN.archiveEntry, locator.archive_entry),
    ...ownValue(OWN.pathId, locator.path_id),
    ...Object.entries(context).flatMap(([key, text]) => ownValue(OWN.context + key, text)),
  ];
}

/** The previous texts of a record. */
export function previousTexts(record: UnitRecord): OwnValue[] {
  return [
    ...ownValue(OWN.previousSource, record.previous_source),
    ...ownValue(OWN.previousTarget, record.previous_target),
  ];
}

function ownValue(name: string, text: string | null): OwnValue[] {
  if (text === null) return [];
  if (isXmlText(text)) return [{ name, text }];
  const json = JSON.stringify(text).replace(/[\uFFFE\uFFFF]/g, (character) =>
    character === '\uFFFE' ? String.raw`\ufffe` : String.raw`\uffff`,
  );
  return [{ name: name + JSON_SUFFIX, text: json }];
}

/**
 * Reads a value of ours.
 *
 * @returns `null` for the notes and contexts of others, and for JSON that was changed
 */
export function readOwnValue({ name, text }: OwnValue): OwnValue | null {
  if (!name.startsWith('x-slipway-')) return null;
  if (!name.endsWith(JSON_SUFFIX)) return { name, text };
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'string' ? { name: name.slice(0, -JSON_SUFFIX.length), text: value } : null;
  } catch {
    return null;
  }
}
