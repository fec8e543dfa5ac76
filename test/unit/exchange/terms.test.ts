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
    for (const mutation of mutations(original, { seed: 15, count: campaignSize(2000, 40_000) })) {
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

  it('never approves a wording that a tool has forbidden in our own export', () => {
    const [source = '', target = ''] = termFile('tbx', [writtenTerm({ review_status: 'approved' })]).split(
      /(?=<lang\w+ xml:lang="zh)/,
    );
    const forbidden = target.replaceAll(/(?:preferred|admitted)(?=Term-admn-sts)/g, 'deprecated');
    expect(forbidden).not.toBe(target);
    expect(readTermFile('tbx', source + forbidden)).toMatchObject([
      { kind: 'term', term: { review_status: 'deprecated' } },
    ]);
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
    expect(readTermFile('tbx', two.replace('ja-JP', 'ko'))).toEqual([
      { kind: 'other', line: 2, languages: ['en', 'ko', 'zh-CN'] },
    ]);
  });

  const UNWANTED = [
    'deprecatedTerm-admn-sts',
    'supersededTerm-admn-sts',
    'DeprecatedTerm-Admn-Sts',
    'deprecatedTermadmnsts',
    'deprecatedTerm',
    'deprecated',
    ' superseded ',
    'notRecommended',
    'Not recommended',
    'not-\n      recommended',
    'forbidden',
    'FORBIDDEN',
    '\n        obsolete\n      ',
    'supersededTerm-\nadmn-sts',
    '<hi>deprecated</hi>Term',
    'do not use',
  ];
  const STYLES: Readonly<Record<string, (state: string) => string>> = {
    'version 2': (state) =>
      two(
        `<tig><term>敌</term>${state === '' ? '' : `<termNote type="administrativeStatus">${state}</termNote>`}</tig>`,
      ),
    'version 2, grouped': (state) =>
      two(
        `<ntig><termGrp><term>敌</term><termNoteGrp><termNote type="normativeAuthorization">${state}</termNote></termNoteGrp></termGrp></ntig>`,
      ),
    'version 2, before the term': (state) =>
      two(`<tig><admin type="Status">${state}</admin><term>敌</term></tig>`),
    'version 2, of the language': (state) =>
      two(`<termNote type="administrativeStatus">${state}</termNote><tig><term>敌</term></tig>`, 'zh-CN'),
    'version 3 in the style DCA': (state) =>
      three(`<termSec><term>敌</term><termNote type="administrativeStatus">${state}</termNote></termSec>`),
    'version 3 in the style DCT': (state) =>
      three(
        `<termSec><term>敌</term><min:administrativeStatus>${state}</min:administrativeStatus></termSec>`,
      ),
    'version 3 with a value in an attribute': (state) =>
      three(
        `<termSec><term>敌</term><normativeAuthorization value="${state.replaceAll(/<.*?>/g, '')}"/></termSec>`,
      ),
    'version 3 with a module of a company': (state) =>
      three(`<termSec><term>敌</term><own:usageStatus>${state}</own:usageStatus></termSec>`),
  };

  /** An entry with a wording that is admitted, where the other one has a state. */
  function two(term: string, language = 'zh-Hans'): string {
    const other = '<tig><term>敌人</term></tig>';
    const sets =
      language === 'zh-Hans'
        ? `<langSet xml:lang="zh-Hans">${term}${other}</langSet>`
        : `<langSet xml:lang="zh-Hans">${other}</langSet><langSet xml:lang="zh-Hans">${term}</langSet>`;
    return `<martif type="TBX-Basic"><text><body><termEntry><langSet xml:lang="ja"><tig><term>敵</term></tig></langSet>${sets}</termEntry></body></text></martif>`;
  }

  function three(term: string): string {
    return `<tbx xmlns="urn:iso:std:iso:30042:ed-2" xmlns:min="http://www.tbxinfo.net/ns/min" xmlns:own="https://own.example/tbx"><text><body><conceptEntry><langSec xml:lang="ja"><termSec><term>敵</term></termSec></langSec><langSec xml:lang="zh-Hans">${term}<termSec><term>敌人</term></termSec></langSec></conceptEntry></body></text></tbx>`;
  }

  it.each(Object.keys(STYLES))('never takes a wording that must not be used: %s', (style) => {
    for (const state of UNWANTED) {
      const [result] = readTermFile('tbx', STYLES[style]?.(state) ?? '');
      expect([state, result]).toMatchObject([
        state,
        {
          kind: 'term',
          term: { recommended_translation: '敌人', allowed_translations: [], review_status: null },
          remarks: [
            { kind: 'wording_left_out', message: expect.stringMatching(/"敌" must not be used: ".+"/) },
          ],
        },
      ]);
    }
  });

  it('leaves out wordings whose state is not known, and counts them; an entry without another one is left out', () => {
    for (const state of ['verboten', '禁止', 'proposedTerm-admn-sts', 'preferredTerm or not', '✗ nein']) {
      const file = STYLES['version 2']?.(state) ?? '';
      expect([state, readTermFile('tbx', file)]).toMatchObject([
        state,
        [
          {
            term: { recommended_translation: '敌人', allowed_translations: [] },
            remarks: [{ message: expect.stringContaining('has a state that is not known') }],
          },
        ],
      ]);
      const alone = file.replace('<tig><term>敌人</term></tig>', '');
      expect(readTermFile('tbx', alone)).toMatchObject([
        { kind: 'left_out', message: expect.stringContaining(JSON.stringify(state)) },
      ]);
    }
  });

  it.each([
    ['', ['敌', '敌人']],
    ['preferredTerm-admn-sts', ['敌', '敌人']],
    ['Preferred', ['敌', '敌人']],
    ['\n recommended', ['敌', '敌人']],
    ['admittedTerm-admn-sts', ['敌', '敌人']],
    ['standardizedTerm-admn-sts', ['敌', '敌人']],
    ['legalTermadmn-\n sts', ['敌', '敌人']],
  ])('takes a wording whose state is %j', (state, wordings) => {
    const [result] = readTermFile('tbx', STYLES['version 2']?.(state) ?? '');
    expect(result).toMatchObject({
      term: { recommended_translation: wordings[0], allowed_translations: wordings.slice(1) },
      remarks: [],
    });
  });

  it('has a deprecated term where all its wordings must not be used, and a state of the work forbids nothing', () => {
    const file = two('<tig><term>敌</term><admin type="status">approved</admin></tig>');
    expect(readTermFile('tbx', file)).toMatchObject([
      { term: { recommended_translation: '敌' }, remarks: [] },
    ]);
    const state = '<termNote type="administrativeStatus">forbidden</termNote>';
    expect(readTermFile('tbx', file.replace('<termEntry>', `<termEntry>${state}`))).toMatchObject([
      { term: { recommended_translation: '敌', review_status: 'deprecated' } },
    ]);
  });

  it.each(Object.keys(STYLES))('of another program is read or refused when it is damaged: %s', (style) => {
    const original = Buffer.from(STYLES[style]?.('deprecatedTerm-admn-sts') ?? '');
    let refused = 0;
    for (const mutation of mutations(original, { seed: 16, count: campaignSize(300, 6000) })) {
      const found = refusal('tbx', mutation);
      if (found === null) continue;
      refused += 1;
      expect(found).toEqual({ reason: expect.any(String), line: expect.any(Number) });
    }
    expect(refused).toBeGreaterThan(50);
  });

  it('finds a language by any name that other programs give it, and says which ones an entry has', () => {
    const file = (tag: string): string => two('').replaceAll('zh-Hans', tag);
    for (const tag of ['zh-CN', 'zh_CN', 'ZH-HANS-CN', 'zh', 'zh-CHS', 'zh-SG']) {
      expect([tag, readTermFile('tbx', file(tag))]).toMatchObject([tag, [{ kind: 'term' }]]);
    }
    for (const tag of ['zh-TW', 'zh-Hant', 'zh-CHT', 'en', 'Chinese']) {
      expect([tag, readTermFile('tbx', file(tag))]).toEqual([
        tag,
        [{ kind: 'other', line: 1, languages: ['ja', tag] }],
      ]);
    }
  });

  it('joins language sets of the same language, and lines that a program has broken', () => {
    const more = '<langSet xml:lang="zh-Hans"><tig><term>\n  仇\n    敌\n</term></tig></langSet>';
    expect(readTermFile('tbx', two('').replace('</termEntry>', `${more}</termEntry>`))).toMatchObject([
      { term: { recommended_translation: '敌人', allowed_translations: ['仇 敌'] } },
    ]);
  });

  it.each<[string, string, number]>([
    [
      '<martif><text><body><termEntry><termEntry/></termEntry></body></text></martif>',
      'structure_invalid',
      1,
    ],
    ['<tmx version="1.4"/>', 'structure_invalid', 1],
    ['<TBX dialect="TBX-Min"/>', 'structure_invalid', 1],
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
