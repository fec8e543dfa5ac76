import type { FileReader, FileWriter } from '../file-codec.ts';

/** The states of a unit's target. */
export const UNIT_STATES = [
  'untranslated',
  'draft',
  'translated',
  'proofread',
  'published',
  'blocked',
  'stale',
] as const;

/** One of {@link UNIT_STATES}. */
export type UnitState = (typeof UNIT_STATES)[number];

/** Where a unit is in its release. */
export interface UnitLocator {
  readonly destination: string;
  readonly archive_entry: string | null;
  readonly path_id: string | null;
  readonly field_path: string;
}

/** A unit in exchange, the same for all formats. */
export interface UnitRecord {
  readonly unit_id: string;
  readonly locator: UnitLocator;
  readonly source_text: string;
  /** `null` while there is no target. */
  readonly target_text: string | null;
  readonly state: UnitState;
  /** For the translator, or from the translator. */
  readonly note: string | null;
  readonly context: Readonly<Record<string, string>>;
  readonly previous_source: string | null;
  readonly previous_target: string | null;
  /** The revision of the target when the file was written: it shows whether someone has changed it since. 0 without a target. */
  readonly revision: number | null;
}

/** The languages of a file, as BCP 47. */
export interface UnitLanguages {
  readonly sourceLanguage: string;
  readonly targetLanguage: string;
}

/** A unit as a file gives it back. People and tools may leave out everything but its text. */
export interface ReadUnit {
  readonly unit_id: string | null;
  readonly locator: UnitLocator | null;
  readonly source_text: string;
  readonly target_text: string | null;
  /** `null` when the file does not say. */
  readonly state: UnitState | null;
  readonly note: string | null;
  readonly context: Readonly<Record<string, string>>;
  readonly previous_source: string | null;
  readonly previous_target: string | null;
  readonly revision: number | null;
}

/** Why one unit of a readable file cannot be used. */
export type UnitProblemReason =
  | 'identity_missing'
  | 'inline_element_unsupported'
  | 'segments_unsupported'
  | 'state_unknown'
  | 'value_invalid';

/** The result for one unit of a file. */
export type ReadResult =
  | { readonly kind: 'unit'; readonly line: number; readonly unit: ReadUnit }
  | {
      readonly kind: 'problem';
      readonly line: number;
      readonly unit_id: string | null;
      readonly reason: UnitProblemReason;
      readonly message: string;
    };

/** A revision as a file holds it; `undefined` for another value. */
export function revisionOf(value: unknown): number | undefined {
  if (typeof value === 'string' && /^(?:0|[1-9]\d{0,14})$/.test(value)) return Number(value);
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** Reads the units of a file. */
export interface UnitReader extends FileReader<ReadResult> {
  /** The languages that the file names, known from its first unit on. */
  languages(): Partial<UnitLanguages>;
}

/** Writes a file of units. */
export type UnitWriter = FileWriter<UnitRecord>;
