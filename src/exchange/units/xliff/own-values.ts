import { ExchangeFileError } from '../../../contract/formats/exchange-file-error.ts';
import { isXmlText } from '../../../domain/text/xml-characters.ts';
import type { UnitRecord } from '../unit-record.ts';
import { JSON_MARK, OWN, OWN_PREFIX } from './xliff-names.ts';

interface OwnValue {
  readonly name: string;
  readonly text: string;
}

/** The values of a record that XLIFF has no element for; without the previous texts. */
export function ownValues({ locator, context, revision }: UnitRecord): OwnValue[] {
  return [
    ...ownValue(OWN.archiveEntry, locator.archive_entry),
    ...ownValue(OWN.pathId, locator.path_id),
    ...ownValue(OWN.revision, revision === null ? null : String(revision)),
    ...Object.entries(context).flatMap(([key, text]) => ownValue(OWN.context + encoded(key), text)),
  ];
}

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
  return [{ name: OWN_PREFIX + JSON_MARK + name.slice(OWN_PREFIX.length), text: json }];
}

/**
 * Reads a value of ours.
 *
 * @returns `null` for the notes and contexts of others, and for JSON that was changed
 */
export function readOwnValue({ name, text }: OwnValue): OwnValue | null {
  if (!name.startsWith(OWN_PREFIX)) return null;
  const rest = name.slice(OWN_PREFIX.length);
  if (!rest.startsWith(JSON_MARK)) return { name, text };
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'string') return null;
    return { name: OWN_PREFIX + rest.slice(JSON_MARK.length), text: value };
  } catch {
    return null;
  }
}

/** The key of a context as a part of a name, which has no white space. @throws ExchangeFileError */
function encoded(key: string): string {
  if (key.isWellFormed()) return encodeURIComponent(key);
  throw new ExchangeFileError('character_unsupported', 'XML cannot carry a lone surrogate in a key', null);
}

/** The contexts among the values of a unit. A key that another program changed stays as it is. */
export function readContext(own: ReadonlyMap<string, string>): Readonly<Record<string, string>> {
  const entries = [...own]
    .filter(([name]) => name.startsWith(OWN.context))
    .map(([name, text]) => [decoded(name.slice(OWN.context.length)), text] as const);
  return Object.fromEntries(entries);
}

function decoded(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}
