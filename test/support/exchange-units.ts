import * as fc from 'fast-check';
import { formatNames, type FormatName } from '../../src/contract/formats/exchange-formats.ts';
import { createUnitReader, readUnits, writeUnits } from '../../src/exchange/units/unit-formats.ts';
import {
  UNIT_STATES,
  type ReadResult,
  type ReadUnit,
  type UnitLanguages,
  type UnitRecord,
  type UnitState,
} from '../../src/exchange/units/unit-record.ts';

export const UNIT_FORMAT_NAMES = formatNames('units');

export const LANGUAGES: UnitLanguages = { sourceLanguage: 'ja', targetLanguage: 'zh-Hans' };

/** A unit whose missing values are filled in. */
export function sampleUnit(unit: Partial<UnitRecord> = {}): UnitRecord {
  return {
    unit_id: 'tu1_mzxw6ytboi2dgnbvgy3tqojqga',
    locator: {
      destination: 'Android/ScenarioScript.zip',
      archive_entry: 'Scenario.json',
      path_id: '-7245034128462131467',
      field_path: '/rows/0/TextJp',
    },
    source_text: 'おはよう、{name}先生\n<b>今日</b>も',
    target_text: '早上好，{name}老师\n<b>今天</b>也',
    state: 'translated',
    note: null,
    context: { speaker: 'アロナ' },
    previous_source: null,
    previous_target: null,
    revision: 3,
    ...unit,
  };
}

/** Texts that formats and spreadsheets trip over, without the characters that a format cannot carry. */
function textOf(parts: readonly string[]): fc.Arbitrary<string> {
  const awkward = fc.constantFrom(
    '"',
    "'",
    '=1+1',
    ',',
    ';',
    '\t',
    '\r\n',
    '\n',
    '\r',
    ' ',
    '&',
    '<b>',
    ']]>',
    '12',
    '1/2',
    '漢字',
    '\ufeff',
    '\u2028',
    ...parts,
  );
  const text = fc
    .array(fc.oneof(awkward, fc.string({ unit: 'binary', maxLength: 4 })), { minLength: 1, maxLength: 6 })
    .map((each) => each.join(''))
    .filter((each) => each !== '');
  return text;
}

/** Records that a format gives back as they are. */
export function unitRecords(format: FormatName<'units'>): fc.Arbitrary<UnitRecord[]> {
  const isXml = format.startsWith('xliff');
  const text = isXml
    ? textOf(['\0', '\u0003', '\ud800', '\uffff'])
    : textOf(format === 'jsonl' ? ['\0', '\ud800'] : ['\u0003', '\u0085']).filter(
        (each) => format === 'jsonl' || !each.includes('\0'),
      );
  // Names are attributes, and notes have no elements: XML carries fewer characters there.
  const plain = textOf([]).map((each) =>
    each.replaceAll(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, 'x'),
  );
  const missing = (each: fc.Arbitrary<string>): fc.Arbitrary<string | null> => fc.option(each, { nil: null });
  const record = fc.record<UnitRecord>({
    unit_id: fc
      .string({ unit: fc.constantFrom('a', 'b', 'z', '2', '7'), minLength: 1, maxLength: 30 })
      .map((each) => `tu1_${each}`),
    locator: fc.record({
      destination: fc.constantFrom('a.json', 'b & "c".zip', ' d'),
      archive_entry: missing(text),
      path_id: missing(fc.constantFrom('12', '-7245034128462131467')),
      field_path: plain,
    }),
    source_text: text,
    target_text: missing(text),
    state: fc.constantFrom(...UNIT_STATES),
    note: missing(plain),
    context: fc.dictionary(fc.constantFrom('speaker', 'json-a', '話 者/%'), text, { noNullPrototype: true }),
    previous_source: missing(text),
    previous_target: missing(text),
    revision: fc.option(fc.nat(), { nil: null }),
  });
  const valid = record.map((each) => ({ ...each, state: possibleState(each) }));
  return fc.array(valid, { maxLength: 5 });
}

/** A unit without a target is untranslated or stale, and only such a unit is: an export leaves the target of a stale unit out. */
function possibleState({ target_text: target, state }: UnitRecord): UnitState {
  if (target === null) return state === 'stale' ? 'stale' : 'untranslated';
  return state === 'untranslated' || state === 'stale' ? 'draft' : state;
}

/** A unit as a file gives it back. */
export function withoutState({ state: _state, ...unit }: UnitRecord): ReadUnit {
  return unit;
}

/** A file of units. @throws when one is refused */
export async function fileOf(
  format: FormatName<'units'>,
  records: readonly UnitRecord[],
  copiesSource?: boolean,
): Promise<Buffer> {
  const parts: Buffer[] = [];
  const count = {
    written: () => undefined,
    refused: (_record: UnitRecord, message: string) => {
      throw new Error(message);
    },
  };
  for await (const part of writeUnits({ format, languages: LANGUAGES, copiesSource }, records, count)) {
    parts.push(Buffer.from(part));
  }
  return Buffer.concat(parts);
}

/** Reads a file in pieces of a size. */
export async function readFile(
  format: FormatName<'units'>,
  bytes: Uint8Array,
  pieceBytes = 1000,
): Promise<ReadResult[]> {
  const pieces = async function* (): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
  };
  const results: ReadResult[] = [];
  for await (const result of readUnits(createUnitReader(format), pieces())) results.push(result);
  return results;
}
