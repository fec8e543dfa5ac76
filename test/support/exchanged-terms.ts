import * as fc from 'fast-check';
import type { ReportedTerm } from '../../src/contract/formats/glossary/term-import.ts';
import type { ReadTermResult } from '../../src/contract/formats/glossary/read-term.ts';
import type { FormatName } from '../../src/contract/formats/exchange-formats.ts';
import { TERM_FORMATS } from '../../src/exchange/glossary/term-formats.ts';

/** The languages of the terms of tests. */
export const TERM_PAIR = { sourceLanguage: 'ja', targetLanguage: 'zh-Hans' };

/** A term with every value. */
export function writtenTerm(fields: Partial<ReportedTerm> = {}): ReportedTerm {
  return {
    term_id: 'gt_01KAJ2X6V5Q0E8T9R3W7Y1Z4BC',
    source_term: '<先生> & "様"',
    aliases: ['せんせい', 'センセイ'],
    recommended_translation: '老师',
    allowed_translations: ['先生', '=导师'],
    source_language: 'ja',
    target_language: 'zh-Hans',
    category: 'people',
    priority: -9_223_372_036_854_775_808n,
    scope: { speaker: 'アロナ', 'a b': 'x/**' },
    review_status: 'approved',
    source: {
      source_kind: 'manual',
      observed_unix_seconds: 5,
      source_ref: 'bible.xlsx',
      source_author: 'mika',
      source_note: 'two\nlines',
    },
    revision: 1,
    created_at: 5,
    updated_at: 5,
    review_history: [],
    ...fields,
  };
}

/** Terms that a format can carry. */
export function writtenTerms(): fc.Arbitrary<ReportedTerm> {
  // Terms have no control characters.
  const wording = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 8 })
    .map((text) => text.toWellFormed().replace(/[\p{Cc}\uFFFE\uFFFF]/gu, '名'));
  const wordings = fc.uniqueArray(wording, { maxLength: 3 });
  return fc
    .record({
      term_id: fc.oneof(wording, fc.constant('gt_01KAJ2X6V5Q0E8T9R3W7Y1Z4BC')),
      wordings: fc.uniqueArray(wording, { minLength: 1, maxLength: 4 }),
      translations: wordings,
      category: fc.oneof(fc.constant(''), wording),
      priority: fc.oneof(fc.integer(), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
      scope: fc.dictionary(wording, wording, { maxKeys: 3 }),
      review_status: fc.constantFrom('draft' as const, 'approved' as const, 'deprecated' as const),
      note: fc.option(wording, { nil: undefined }),
    })
    .map(({ wordings: [source = '', ...aliases], translations: [recommended = '', ...allowed], ...rest }) => {
      const { note, priority, ...values } = rest;
      const exact = typeof priority === 'bigint' && Number.isSafeInteger(Number(priority));
      return writtenTerm({
        ...values,
        priority: exact ? Number(priority) : priority,
        source_term: source,
        aliases,
        recommended_translation: recommended,
        allowed_translations: allowed,
        source: {
          source_kind: 'manual',
          observed_unix_seconds: 5,
          ...(note === undefined ? {} : { source_note: note }),
        },
      });
    });
}

/** The file of some terms. */
export function termFile(format: FormatName<'terms'>, terms: readonly ReportedTerm[]): string {
  const writer = TERM_FORMATS[format].createWriter(TERM_PAIR, '1.2.3');
  return writer.begin() + terms.map((term) => writer.write(term)).join('') + writer.end();
}

/** Reads the terms of a file. */
export function readTermFile(
  format: FormatName<'terms'>,
  file: string | Uint8Array,
  pieceBytes = 4096,
): ReadTermResult[] {
  const bytes = Buffer.from(file);
  const reader = TERM_FORMATS[format].createReader(TERM_PAIR);
  const results: ReadTermResult[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    results.push(...reader.write(bytes.subarray(at, at + pieceBytes)));
  }
  return [...results, ...reader.end()];
}
