import { ExchangeFileError } from '../../../contract/formats/exchange-file-error.ts';
import { emptyElement, escapeXmlText, startTag, textElement, xmlParts } from '../../xml/xml-text.ts';
import type { UnitLanguages, UnitRecord, UnitWriter } from '../unit-record.ts';
import { ownValues, previousTexts } from './own-values.ts';
import { CODE_POINT_TYPE, XLIFF_ONE, XLIFF_TWO } from './xliff-names.ts';
import { COPIED, XLIFF_ONE_STATES, XLIFF_TWO_STATES } from './xliff-states.ts';

const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n';

/**
 * Makes a writer of XLIFF 2.1. Consecutive units of one destination are in one `file`. Characters that
 * XML cannot carry are `cp` elements. Source: OASIS XLIFF 2.1.
 *
 * @param copiesSource whether a missing target is written as a copy of its source, for programs that show no unit without a target
 */
export function createXliffTwoWriter(
  { sourceLanguage, targetLanguage }: UnitLanguages,
  copiesSource = false,
): UnitWriter {
  return fileWriter({
    begin: startTag('xliff', {
      xmlns: XLIFF_TWO,
      version: '2.1',
      srcLang: sourceLanguage,
      trgLang: targetLanguage,
    }),
    openFile: (destination, number) =>
      startTag('file', { id: `f${number}`, original: destination, 'xml:space': 'preserve' }),
    unit: (record) => unitOfTwo(record, copiesSource),
    closeFile: '</file>',
  });
}

/**
 * Makes a writer of XLIFF 1.2, which OmegaT, Poedit and memoQ read. Characters that XML cannot carry are `ph` elements.
 * Source: OASIS XLIFF 1.2.
 *
 * @param copiesSource as of {@link createXliffTwoWriter}; OmegaT shows no unit without a target
 */
export function createXliffOneWriter(
  { sourceLanguage, targetLanguage }: UnitLanguages,
  copiesSource = true,
): UnitWriter {
  return fileWriter({
    begin: startTag('xliff', { xmlns: XLIFF_ONE, version: '1.2' }),
    openFile: (destination) =>
      `${startTag('file', {
        original: destination,
        'source-language': sourceLanguage,
        'target-language': targetLanguage,
        datatype: 'plaintext',
      })}<body>`,
    unit: (record) => unitOfOne(record, copiesSource),
    closeFile: '</body></file>',
  });
}

function fileWriter({
  begin,
  openFile,
  unit,
  closeFile,
}: {
  readonly begin: string;
  readonly openFile: (destination: string, number: number) => string;
  readonly unit: (record: UnitRecord) => string;
  readonly closeFile: string;
}): UnitWriter {
  let destination: string | null = null;
  let files = 0;
  return {
    begin: () => `${DECLARATION}${begin}\n`,
    write(record) {
      // The unit comes first: nothing changes when it is refused.
      const text = nameUnit(record, () => unit(record));
      if (record.locator.destination === destination) return text;
      const open = nameUnit(record, () => openFile(record.locator.destination, files + 1));
      const close = destination === null ? '' : `${closeFile}\n`;
      destination = record.locator.destination;
      files += 1;
      return `${close}${open}\n${text}`;
    },
    end() {
      if (destination !== null) return `${closeFile}\n</xliff>\n`;
      // Both versions demand a file.
      return `${openFile('empty', 1)}${emptyOf(closeFile)}${closeFile}\n</xliff>\n`;
    },
  };
}

function nameUnit(record: UnitRecord, write: () => string): string {
  try {
    return write();
  } catch (error) {
    if (!(error instanceof ExchangeFileError)) throw error;
    throw new ExchangeFileError(error.reason, `unit ${record.unit_id}: ${error.message}`, null);
  }
}

/** XLIFF 2 demands a unit or a group in a file. */
function emptyOf(closeFile: string): string {
  return closeFile === '</file>' ? emptyElement('group', { id: 'g1' }) : '';
}

function unitOfTwo(record: UnitRecord, copiesSource: boolean): string {
  const target = record.target_text ?? (copiesSource ? record.source_text : null);
  const notes = [
    ...(record.note === null ? [] : [textElement('note', record.note)]),
    ...[...ownValues(record), ...previousTexts(record)].map(({ name, text }) =>
      textElement('note', text, { category: name }),
    ),
  ];
  return [
    startTag('unit', { id: requireId(record), name: record.locator.field_path, canResegment: 'no' }),
    notes.length === 0 ? '' : `<notes>${notes.join('')}</notes>`,
    startTag('segment', segmentState(record, target)),
    `<source>${inlineOfTwo(record.source_text)}</source>`,
    target === null ? '' : `<target>${inlineOfTwo(target)}</target>`,
    '</segment></unit>\n',
  ].join('');
}

/** Without a target the standard allows only the initial state. */
function segmentState(
  { state, target_text }: UnitRecord,
  written: string | null,
): { state: string; subState: string | null } {
  if (target_text !== null || state === 'stale') return XLIFF_TWO_STATES[state];
  const { untranslated } = XLIFF_TWO_STATES;
  return written === null ? untranslated : { ...untranslated, subState: COPIED };
}

function unitOfOne(record: UnitRecord, copiesSource: boolean): string {
  const { target_text } = record;
  const named = target_text === null && record.state !== 'stale' ? 'untranslated' : record.state;
  const { state, qualifier, approved } = XLIFF_ONE_STATES[named];
  const contexts = ownValues(record).map(({ name, text }) =>
    textElement('context', text, { 'context-type': name }),
  );
  const target = startTag('target', { state, 'state-qualifier': qualifier });
  return [
    startTag('trans-unit', {
      id: requireId(record),
      resname: record.locator.field_path,
      approved: approved ? 'yes' : null,
      'xml:space': 'preserve',
    }),
    `<source>${inlineOfOne(record.source_text)}</source>`,
    // Some tools expect a target that they can fill.
    `${target}${inlineOfOne(target_text ?? (copiesSource ? record.source_text : ''))}</target>`,
    contexts.length === 0
      ? ''
      : `${startTag('context-group', { purpose: 'information' })}${contexts.join('')}</context-group>`,
    record.note === null ? '' : textElement('note', record.note),
    ...previousTexts(record).map(({ name, text }) => textElement('note', text, { from: name })),
    '</trans-unit>\n',
  ].join('');
}

/** The id of a unit is an XML name token in both versions. */
function requireId({ unit_id }: UnitRecord): string {
  if (/^[\w.-]{1,256}$/.test(unit_id)) return unit_id;
  throw new ExchangeFileError(
    'character_unsupported',
    `XLIFF cannot carry the unit id ${JSON.stringify(unit_id)}`,
    null,
  );
}

function inlineOfTwo(text: string): string {
  return xmlParts(text)
    .map((part) =>
      'text' in part ? escapeXmlText(part.text) : emptyElement('cp', { hex: hexOf(part.codePoint) }),
    )
    .join('');
}

function inlineOfOne(text: string): string {
  return xmlParts(text)
    .map((part, index) =>
      'text' in part
        ? escapeXmlText(part.text)
        : textElement('ph', hexOf(part.codePoint), { id: String(index + 1), ctype: CODE_POINT_TYPE }),
    )
    .join('');
}

function hexOf(codePoint: number): string {
  return codePoint.toString(16).toUpperCase().padStart(4, '0');
}
