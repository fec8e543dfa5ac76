import type { ParseErrorCode } from '../../../contract/reports/parse-error-codes.ts';
import { FormatError } from '../../../formats/format-error.ts';
import type { CollectedText } from '../../../formats/collect/text-collector.ts';

/** Version of the parser. Containers are parsed again when it changes. */
export const PARSER_VERSION = '6';

export const UNIT_ID_BYTES = 16;
export const SOURCE_DIGEST_BYTES = 32;

export interface PartLocation {
  /** The path through archives, `!/` between levels; `null` outside of archives. */
  readonly archiveEntry: string | null;
  /** Unity object id, signed 64 bits. */
  readonly pathId: bigint | null;
  readonly classId: number | null;
  readonly format: string;
}

export function isSamePart(left: PartLocation, right: PartLocation): boolean {
  return (
    left.archiveEntry === right.archiveEntry &&
    left.pathId === right.pathId &&
    left.classId === right.classId &&
    left.format === right.format
  );
}

export interface ParsedUnit extends PartLocation {
  readonly fieldPath: string;
  /** The path inside the container with stable names in place of hashes, object ids and indexes. */
  readonly keyPath: string;
  /** {@link UNIT_ID_BYTES}: BLAKE3 of the container's stable name and the key path. */
  readonly unitId: Uint8Array;
  /** {@link SOURCE_DIGEST_BYTES}: BLAKE3 of the source text. */
  readonly sourceDigest: Uint8Array;
  readonly sourceText: string;
  readonly speaker: string | null;
  readonly scene: string | null;
}

export interface ParseIssue extends PartLocation {
  readonly fieldPath: string | null;
  readonly code: ParseErrorCode;
  readonly message: string;
}

/** Why a string or a file is not a text unit, and what that means. */
export const SKIP_REASONS = {
  no_source_script: 'The string has no character of the source script (`parse.sourceScript`).',
  field_not_selected: 'The `include` and `exclude` globs of the rule do not select the field of the string.',
  not_for_players:
    'The string is a name, an identifier or a setting of the engine: `m_Name`, keys and GUIDs of known tables, catalogs of Addressables. A rule with `include` selects such fields too.',
  binary: 'The file or the field holds pictures, sound, programs or other bytes without text.',
  part_of_key:
    'The string is in a column by which a SQLite database finds rows: the key of a table without row ids, or a foreign key. It cannot be replaced.',
  not_a_table: 'The object of a SQLite database is a view, a virtual table or internal.',
  unknown_format: 'Neither the first bytes nor the name of the file show a format that Slipway reads.',
  format_not_read:
    'The file has a known format with text that Slipway does not read, such as a workbook or YAML; `format` of its container names it.',
  skipped_by_rule: 'A rule has the format `skip` for the file or the field.',
  errors_not_listed: 'The container has more errors than the report lists of one container.',
} as const satisfies Record<string, string>;

export type SkipReason = keyof typeof SKIP_REASONS;

export interface ContainerOutcome {
  readonly status: 'parsed' | 'partial' | 'unsupported' | 'failed';
  readonly format: string;
  readonly issues: readonly ParseIssue[];
  readonly skipped: Readonly<Partial<Record<SkipReason, number>>>;
}

/** The outcome of a container of which nothing could be read. */
export function failedContainer(code: ParseErrorCode, message: string, format = 'unknown'): ContainerOutcome {
  const location = { archiveEntry: null, pathId: null, classId: null, format, fieldPath: null };
  return { status: 'failed', format, issues: [{ ...location, code, message }], skipped: {} };
}

/** The mark between the parts of a stored key path. Unit ids are digests of the path, so it must never change. */
const SEPARATOR = '\0';

/**
 * Joins the parts of a key path: the stable name of the entry, that of the object in it, and the stable path of the field.
 *
 * @param parts the last one is empty for the beginning of the paths of an object
 */
export function joinKeyPath(parts: readonly (string | number | bigint)[]): string {
  return parts.join(SEPARATOR);
}

/** The parts of a key path for a reader; joined again they give the same path. */
export function keyPathParts(keyPath: string): string[] {
  return keyPath.split(SEPARATOR);
}

/** The warning for texts that have the same names on the path to them. */
export function repeatedKey(): FormatError {
  const message = 'another text has the same row key or names, so both are identified by their exact place';
  return new FormatError('duplicate_unit_key', message);
}

/** The warning for a file that shares its name without hashes with another one. @param name its exact name */
export function repeatedName(name: string): FormatError {
  const message = `another file has the same name as ${name} without its hash, so both keep their exact names`;
  return new FormatError('duplicate_unit_key', message);
}

/**
 * Gives texts that share a key path their exact path instead. Texts that share the exact path as well, which only a damaged
 * file has, are numbered.
 *
 * @param collected every text of one file, object or table
 */
export function uniqueTexts(collected: readonly CollectedText[]): {
  readonly texts: readonly CollectedText[];
  /** The first text of each key path that several texts had. */
  readonly repeated: readonly CollectedText[];
} {
  const keyPaths = new Set<string>();
  const repeated = new Map<string, CollectedText | null>();
  for (const { keyPath } of collected) {
    if (keyPaths.has(keyPath)) repeated.set(keyPath, null);
    else keyPaths.add(keyPath);
  }
  if (repeated.size === 0) return { texts: collected, repeated: [] };
  const counts = new Map<string, number>();
  const texts = collected.map((text) => {
    const first = repeated.get(text.keyPath);
    if (first === undefined) return text;
    if (first === null) repeated.set(text.keyPath, text);
    const count = (counts.get(text.fieldPath) ?? 0) + 1;
    counts.set(text.fieldPath, count);
    return { ...text, keyPath: count === 1 ? text.fieldPath : `${text.fieldPath}#${count}` };
  });
  return { texts, repeated: [...repeated.values()].filter((text) => text !== null) };
}
