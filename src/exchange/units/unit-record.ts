import type { FileReader, FileWriter } from '../file-codec.ts';

export const UNIT_STATES = [
  'untranslated',
  'draft',
  'translated',
  'proofread',
  'published',
  'blocked',
  'stale',
] as const;

export type UnitState = (typeof UNIT_STATES)[number];

export interface UnitLocator {
  readonly destination: string;
  readonly archive_entry: string | null;
  readonly path_id: string | null;
  readonly field_path: string;
}

interface UnitTexts {
  readonly source_text: string;
  /** `null` while there is no target. */
  readonly target_text: string | null;
  /** For the translator, or from the translator. */
  readonly note: string | null;
  readonly context: Readonly<Record<string, string>>;
  readonly previous_source: string | null;
  readonly previous_target: string | null;
  /** The revision of the target when the file was written: it shows whether someone has changed it since. 0 without a target. */
  readonly revision: number | null;
}

/** A unit in exchange, the same for all formats. */
export interface UnitRecord extends UnitTexts {
  readonly unit_id: string;
  readonly locator: UnitLocator;
  readonly state: UnitState;
}

/** The languages of a file, as BCP 47. */
export interface UnitLanguages {
  readonly sourceLanguage: string;
  readonly targetLanguage: string;
}

/** A unit as a file gives it back, without its state: an import takes every text. People and tools may leave out all but its text. */
export interface ReadUnit extends UnitTexts {
  readonly unit_id: string | null;
  readonly locator: UnitLocator | null;
}

export type UnitProblemReason =
  | 'identity_missing'
  | 'inline_element_unsupported'
  | 'segments_unsupported'
  | 'value_invalid';

/** Where a unit is in its file. */
export interface ReadPlace {
  /** From 1; in a workbook the row of the sheet. */
  readonly line: number;
  /** The name of the sheet of a workbook: each sheet has rows of its own. */
  readonly sheet?: string;
}

export type ReadResult = ReadPlace &
  (
    | {
        readonly kind: 'unit';
        readonly unit: ReadUnit;
        /** For a unit of a table, whose line ends and cells a spreadsheet can have changed. */
        readonly table?: {
          /** What a spreadsheet may have done to the target; `null` when nothing shows. */
          readonly remark: string | null;
        };
      }
    | {
        readonly kind: 'problem';
        readonly unit_id: string | null;
        readonly reason: UnitProblemReason;
        readonly message: string;
      }
  );

/** A revision as a file holds it; `undefined` for another value. */
export function revisionOf(value: unknown): number | undefined {
  if (typeof value === 'string' && /^(?:0|[1-9]\d{0,14})$/.test(value)) return Number(value);
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** Reads the units of a file. */
export interface UnitReader extends FileReader<ReadResult, Iterable<ReadResult> | AsyncIterable<ReadResult>> {
  /** What was left out of the file, known at its end. */
  notices?(): readonly string[];
  /** The languages that the file names, known from its first unit on. */
  languages(): Partial<UnitLanguages>;
}

export type UnitWriter = FileWriter<UnitRecord>;
