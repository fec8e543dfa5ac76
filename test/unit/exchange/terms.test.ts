import type { ReportedTerm } from '../../../src/contract/formats/glossary/term-import.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ExchangeFileError } from '../../../src/contract/formats/exchange-file-error.ts';
import { formatNames } from '../../../src/contract/formats/exchange-formats.ts';
import { TERM_FORMATS } from '../../../src/exchange/glossary/term-formats.ts';
import {
  readTermFile,
  TERM_PAIR,
  termFile,
  writtenTerm,
  writtenTerms,
} from '../../support/exchanged-terms.ts';
import { mutations } from '../../support/mutate.ts';
import { campaignSize } from '../../support/long.ts';

/** The term that a reader gives for one that was written. */
function readOf(term: ReportedTerm): unknown {
  const { source, source_language: _s, target_language: _t, ...written } = term;
  const { revision: _r, created_at: _c, updated_at: _u, review_history: _h, ...values } = written;
  return {
    ...values,
    source_ref: source.source_ref ?? null,
    source_author: source.source_author ?? null,
    source_note: source.source_note ?? null,
  };
}

function termsOf(results: ReturnType<typeof readTermFile>): unknown[] {
  return results.map((result) => (result.kind === 'term' ? result.term : result));
}

function refusal(format: 'tbx' | 'csv', file: string | Uint8Array): unknown {
  try {
    readTermFile(format, file);
    return null;
  } catch (error) {
    if (!(error instanceof ExchangeFileError)) throw error;
    return { reason: error.reason, line: error.line };
  }
}

describe.each(formatNames('terms'))('terms as %s', (format) => {
  it('come back as they were written, in any pieces', () => {
    expect(termsOf(readTermFile(format, termFile(format, [writtenTerm()])))).toEqual([readOf(writtenTerm())]);
    fc.assert(
      fc.property(writtenTerms(), fc.integer({ min: 1, max: 50 }), (term, pieceBytes) => {
        expect(termsOf(readTermFile(format, termFile(format, [term]), pieceBytes))).toEqual([readOf(term)]);
      }),
      { seed: 15, numRuns: campaignSize(50, 1000) },
    );
  });

  it('are refused when the format cannot carry a character, and the file stays whole', () => {
    const writer = TERM_FORMATS[format].createWriter(TERM_PAIR, '1');
    const begin = writer.begin();
    for (const value of ['\0', '\uD800']) {
      const scope = { speaker: value };
      const term = writtenTerm(format === 'csv' ? { category: value } : { scope });
      expect(() => writer.write(term)).toThrow(ExchangeFileError);
    }
    expect(readTermFile(format, begin + writer.write(writtenTerm()) + writer.end())).toHaveLength(1);
  });

  it('are read or refused with line and reason when the file is damaged: 2,000 mutations', () => {
    const original = Buffer.from(termFile(format, [writtenTerm(), writtenTerm({ term_id: 'gt_2' })]));
    let refused = 0;
    for (const mutation of mutations(original, { seed: 15, count: 2000 })) {
      try {
        readTermFile(format, mutation);
      } catch (error) {
        if (!(error instanceof ExchangeFileError)) throw error;
        expect(error.line).toBeGreaterThan(0);
        refused += 1;
      }
    }
    expect(refused).toBeGreaterThan(200);
  });
});

describe('TBX', () => {
  it('has the administrative states of the standard, and no rejected term', () => {
    const statuses = (term: ReportedTerm): string[] =>
      [...termFile('tbx', [term]).matchAll(/>(\w+)Term-admn-sts</g)].map(([, status = '']) => status);
    const ofLanguage = ['preferred', 'admitted', 'admitted'];
    expect(statuses(writtenTerm())).toEqual([...ofLanguage, ...ofLanguage]);
    expect(statuses(writtenTerm({ review_status: 'deprecated' })).slice(3)).toEqual(
      Array(3).fill('deprecated'),
    );
    expect(readTermFile('tbx', termFile('tbx', [writtenTerm({ review_status: 'rejected' })]))).toEqual([]);
  });

  it('of other programs is read in version 2 and 3, in both styles, with other names of the languages', () => {
    const two = `<?xml version="1.0"?><!DOCTYPE martif SYSTEM "TBXcoreStructV02.dtd"><martif type="TBX" xml:lang="en"><martifHeader><fileDesc><sourceDesc><p>x</p></sourceDesc></fileDesc></martifHeader><text><body>
<termEntry id="c1"><descripGrp><descrip type="definition">d</descrip></descripGrp><descrip type="subjectField">people</descrip>
<langSet xml:lang="en"><tig><term>teacher</term></tig></langSet>
<langSet xml:lang="ja-JP"><ntig><termGrp><term>先<hi>生</hi></term><termNote type="administrativeStatus">preferredTerm-admn-sts</termNote></termGrp></ntig></langSet>
<langSet xml:lang="zh-CN"><tig><term>先生</term><termNote type="administrativeStatus">deprecatedTerm-admn-sts</termNote></tig><tig><term>老师</term></tig></langSet>
</termEntry></body></text></martif>`;
    const three = `<tbx type="TBX-Basic" style="dct" xml:lang="en" xmlns="urn:iso:std:iso:30042:ed-2" xmlns:basic="http://www.tbxinfo.net/ns/basic" xmlns:min="http://www.tbxinfo.net/ns/min"><tbxHeader/><text><body>
<conceptEntry id="c1"><min:subjectField>people</min:subjectField>

<langSec xml:lang="ja"><termSec><term>先生</term><min:administrativeStatus>preferredTerm-admn-sts</min:administrativeStatus></termSec></langSec>
<langSec xml:lang="zh-Hans-CN"><termSec><term>老师</term></termSec></langSec>
</conceptEntry></body></text></tbx>`;
    for (const document of [two, three]) {
      expect(readTermFile('tbx', document)).toMatchObject([
        {
          kind: 'term',
          line: 2,
          term: {
            term_id: 'c1',
            source_term: '先生',
            recommended_translation: '老师',
            allowed_translations: [],
            category: 'people',
            priority: 0,
            review_status: null,
          },
        },
      ]);
    }
    expect(readTermFile('tbx', two.replace('ja-JP', 'ko'))).toEqual([{ kind: 'other', line: 2 }]);
  });

  it.each<[string, string, number]>([
    [
      '<martif><text><body><termEntry><termEntry/></termEntry></body></text></martif>',
      'structure_invalid',
      1,
    ],
    ['<tmx version="1.4"/>', 'structure_invalid', 1],
    ['<!DOCTYPE martif [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>\n<martif/>', 'structure_invalid', 1],
    ['<!DOCTYPE martif [<!ENTITY % a SYSTEM "http://x/">%a;]>\n<martif/>', 'structure_invalid', 1],
    ['<martif>\n<text>&a;</text></martif>', 'syntax_invalid', 2],
    [`<martif>\n${'<text>'.repeat(40)}`, 'limit_exceeded', 2],
    [`<martif><text><termEntry>\n${'<langSet/>'.repeat(101)}`, 'limit_exceeded', 1],
    [`<martif><text><termEntry><langSet><tig>\n<term>${'a'.repeat(2 ** 20 + 1)}</term>`, 'limit_exceeded', 2],
    ['<?xml version="1.0" encoding="x-none"?><martif/>', 'encoding_invalid', 1],
  ])('that is hostile is refused: %#', (document, reason, line) => {
    expect(refusal('tbx', document)).toEqual({ reason, line });
  });
});

describe('a table of terms', () => {
  it('is read with shorter names of columns, as people write them', () => {
    expect(
      readTermFile('csv', 'translation;Source;Status\n老师;先生;Approved\n,;x;\n'.replace(',;', ';')),
    ).toMatchObject([
      {
        kind: 'term',
        line: 2,
        term: { source_term: '先生', recommended_translation: '老师', review_status: 'approved' },
      },
      { kind: 'term', line: 3, term: { source_term: 'x', recommended_translation: '', review_status: null } },
    ]);
  });

  it('names the rows that it cannot use, and reads the others', () => {
    const rows = [
      'source,translation,priority,scope,status,source_language',
      'a,b,1.5,,,',
      'a,b,99999999999999999999,,,',
      'a,b,,{"a":1},,',
      'a,b,,,wrong,',
      'a,b,,,,en',
      'a,b,7,"{""speaker"":""x""}",draft,ja-JP',
    ];
    expect(readTermFile('csv', rows.join('\n')).map((result) => [result.line, result.kind])).toEqual([
      [2, 'problem'],
      [3, 'problem'],
      [4, 'problem'],
      [5, 'problem'],
      [6, 'other'],
      [7, 'term'],
    ]);
  });

  it('does not run as a formula in a spreadsheet', () => {
    const file = termFile('csv', [writtenTerm({ source_term: '=cmd()', category: '@x', aliases: [] })]);
    expect(file).toContain(`"'=cmd()"`);
    expect(file).toContain(`"'@x"`);
  });
});
