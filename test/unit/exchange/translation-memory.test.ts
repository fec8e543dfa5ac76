import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ExchangeFileError } from '../../../src/contract/formats/exchange-file-error.ts';
import type { MemoryRecord } from '../../../src/domain/memory/memory-record.ts';
import { MEMORY_FORMATS } from '../../../src/exchange/memory/memory-formats.ts';
import { createTmxReader } from '../../../src/exchange/tmx/read-tmx.ts';
import type { TmxUnit } from '../../../src/exchange/tmx/tmx-record.ts';
import { createTmxWriter } from '../../../src/exchange/tmx/write-tmx.ts';
import { memoryRecord } from '../../support/memory-records.ts';
import { campaignSize } from '../../support/long.ts';
import { mutations } from '../../support/mutate.ts';

function fileOf(records: readonly MemoryRecord[]): string {
  const writer = MEMORY_FORMATS.jsonl.createWriter();
  return writer.begin() + records.map((record) => writer.write(record)).join('') + writer.end();
}

describe('records as JSON lines', () => {
  const WRITTEN = {
    record_id: 'tm_1',
    state: 'trusted' as const,
    source_language: 'ja',
    target_language: 'zh-Hans',
    source_text: 'はい\n\u0001\uFFFE',
    target_text: '是',
    context: { speaker: 'アロナ' },
    provenance: {
      origin: 'worker' as const,
      provider: 'fixture',
      provider_run_id: null,
      task_id: null,
      unit_id: 'tu1_a',
      release_id: null,
    },
    reviewer: 'mika',
    created_at: 1,
    confirmed_at: 2,
  };
  const RECORD = memoryRecord(WRITTEN);

  function read(file: string | Uint8Array, pieceBytes = 7): TmxUnit[] {
    const bytes = Buffer.from(file);
    const reader = MEMORY_FORMATS.jsonl.createReader();
    const units: TmxUnit[] = [];
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      units.push(...reader.write(bytes.subarray(at, at + pieceBytes)));
    }
    return [...units, ...reader.end()];
  }

  it('come back as they were written, in any pieces', () => {
    const { created_at: _c, confirmed_at: _f, provenance, ...values } = WRITTEN;
    const { origin: _o, ...kept } = provenance;
    expect(read(fileOf([RECORD]))).toEqual([
      { kind: 'records', records: [{ ...values, provenance: kept, line: 2 }] },
    ]);
  });

  it('need languages and texts; a line without them is a problem of its own', () => {
    const needed = { source_language: 'ja', target_language: 'en', source_text: 'a', target_text: 'b' };
    const lines = [
      needed,
      { ...needed, target_text: undefined },
      { ...needed, source_text: 1 },
      { ...needed, context: { a: 1 } },
      { ...needed, context: [] },
      { ...needed, provenance: 'x' },
    ];
    const units = read(lines.map((line) => JSON.stringify(line)).join('\n'));
    expect(units.map(({ kind }) => kind)).toEqual(['records', ...Array<string>(5).fill('problem')]);
  });

  it('are refused with line and reason when the file is cut off or is not JSON', () => {
    const file = fileOf([RECORD, RECORD]);
    for (const cut of [file.split('\n').slice(0, 2).join('\n'), file.slice(0, -10), `${file}{}\n`]) {
      expect(() => read(cut)).toThrow(ExchangeFileError);
    }
  });

  it('are read or refused when the file is damaged: 2,000 mutations', () => {
    const original = Buffer.from(fileOf([RECORD, { ...RECORD, record_id: 'tm_2' }]));
    let refused = 0;
    for (const mutation of mutations(original, { seed: 15, count: campaignSize(2000, 40_000) })) {
      try {
        read(mutation, 4096);
      } catch (error) {
        if (!(error instanceof ExchangeFileError)) throw error;
        expect(error.line).toBeGreaterThan(0);
        refused += 1;
      }
    }
    expect(refused).toBeGreaterThan(500);
  });
});

function write(records: readonly MemoryRecord[]): string {
  const writer = createTmxWriter('ja', '1.2.3');
  return writer.begin() + records.map((record) => writer.write(record)).join('') + writer.end();
}

/** A document of other programs. */
function foreign(units: string, header = 'srclang="ja"', doctype = ''): string {
  return `<?xml version="1.0"?>\n${doctype}<tmx version="1.4"><header ${header}><note>n</note></header>\n<body>\n${units}\n</body></tmx>`;
}

function unit(seg: string): string {
  return `<tu><tuv xml:lang="ja"><seg>${seg}</seg></tuv><tuv xml:lang="zh-CN"><seg>是</seg></tuv></tu>`;
}

describe('TMX', () => {
  const RECORD: MemoryRecord = {
    record_id: 'tm_01KAJ2X6V5Q0E8T9R3W7Y1Z4BC',
    state: 'trusted',
    source_language: 'ja',
    target_language: 'zh-Hans',
    source_text: '<b>はい</b> & "そう"',
    target_text: '<b>是</b>\r\n\u0001 ',
    context: { speaker: 'アロナ', field_path: 'a[0].b' },
    context_key: 'k',
    is_default: true,
    identity: '00',
    provenance: {
      origin: 'proofread',
      provider: 'fixture',
      provider_run_id: null,
      task_id: 'tt_1',
      unit_id: 'tu1_x',
      release_id: null,
    },
    reviewer: 'mika',
    reason: null,
    supersedes: null,
    superseded_by: null,
    created_at: 1_700_000_000,
    confirmed_at: 1_700_000_100,
    use_count: 0,
    last_used_at: null,
  };

  function read(document: string | Uint8Array, pieceBytes = 4096): TmxUnit[] {
    const bytes = typeof document === 'string' ? Buffer.from(document) : document;
    const reader = createTmxReader('ja');
    const units: TmxUnit[] = [];
    for (let at = 0; at < bytes.length; at += pieceBytes)
      units.push(...reader.write(bytes.subarray(at, at + pieceBytes)));
    return [...units, ...reader.end()];
  }

  /** The source texts of units, or their problems. */
  function sources(document: string): string[] {
    return read(document).map((each) =>
      each.kind === 'problem' ? `problem: ${each.message}` : (each.records[0]?.source_text ?? ''),
    );
  }

  function refusal(document: string): { readonly reason: string; readonly line: number | null } | null {
    try {
      read(document);
      return null;
    } catch (error) {
      if (!(error instanceof ExchangeFileError)) throw error;
      return { reason: error.reason, line: error.line };
    }
  }

  describe('TMX of our own', () => {
    it('gives every record back as it was written', () => {
      const { origin: _, ...provenance } = RECORD.provenance;
      const {
        record_id,
        state,
        source_language,
        target_language,
        source_text,
        target_text,
        context,
        reviewer,
      } = RECORD;
      const values = {
        record_id,
        state,
        source_language,
        target_language,
        source_text,
        target_text,
        context,
        reviewer,
      };
      expect(read(write([RECORD]))).toEqual([
        { kind: 'records', records: [{ ...values, provenance, line: 3 }] },
      ]);
    });

    it('names times and reviewer as the standard says', () => {
      expect(write([RECORD])).toContain(
        '<tu tuid="tm_01KAJ2X6V5Q0E8T9R3W7Y1Z4BC" srclang="ja" creationdate="20231114T221320Z" creationid="mika" changedate="20231114T221500Z">',
      );
    });

    it('property: carries any text of a record, in any pieces', () => {
      const text = fc
        .string({ unit: 'binary', minLength: 1 })
        .filter((value) => value.isWellFormed() && !value.includes('\0'));
      fc.assert(
        fc.property(text, text, fc.integer({ min: 1, max: 50 }), (source_text, target_text, pieceBytes) => {
          const [found] = read(write([{ ...RECORD, source_text, target_text }]), pieceBytes);
          expect(found).toMatchObject({ records: [{ source_text, target_text }] });
        }),
      );
    });

    it('refuses a record whose context XML cannot carry, and stays whole', () => {
      const writer = createTmxWriter('ja', '1');
      const begin = writer.begin();
      expect(() => writer.write({ ...RECORD, context: { speaker: '\u0001' } })).toThrow(ExchangeFileError);
      expect(read(begin + writer.write(RECORD) + writer.end())).toHaveLength(1);
    });
  });

  describe('TMX of other programs', () => {
    it('is read with its codes, languages and document type', () => {
      const doctype = '<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n';
      const seg = '<bpt i="1">&lt;b&gt;</bpt><hi>はい</hi><ept i="1">&lt;/b&gt;</ept><ph>{0}</ph>';
      const [found] = read(foreign(unit(seg), 'srclang="JA"', doctype));
      expect(found).toMatchObject({
        kind: 'records',
        records: [
          {
            record_id: null,
            state: null,
            source_text: '<b>はい</b>{0}',
            target_language: 'zh-CN',
            target_text: '是',
            line: 5,
          },
        ],
      });
    });

    it('takes the first language where any is the source, and gives a record for each other one', () => {
      const more =
        '<tu tuid="a"><tuv lang="ja"><seg>あ</seg></tuv><tuv lang="ko"><seg>가</seg></tuv><tuv lang="en"><seg>a</seg></tuv></tu>';
      expect(read(foreign(more, 'srclang="*all*"'))).toMatchObject([
        {
          records: [
            { record_id: 'a', source_language: 'ja', target_language: 'ko' },
            { record_id: null, source_language: 'ja', target_language: 'en' },
          ],
        },
      ]);
    });

    it('takes the wanted language where any is the source, under any of its names', () => {
      const more =
        '<tu><tuv xml:lang="en"><seg>a</seg></tuv><tuv xml:lang="JA-JP"><seg>あ</seg></tuv><tuv xml:lang="zh_CN"><seg>啊</seg></tuv></tu>';
      expect(read(foreign(more, 'srclang="*ALL*"'))).toMatchObject([
        { records: [{ source_language: 'JA-JP', target_language: 'en' }, { target_language: 'zh_CN' }] },
      ]);
    });

    it.each(['ja-JP', 'JA_jp', ' ja ', 'jA'])(
      'finds the source language "%s" as a language tag',
      (srclang) => {
        expect(read(foreign(unit('はい'), `srclang="${srclang}"`))).toMatchObject([
          { records: [{ source_language: 'ja', source_text: 'はい' }] },
        ]);
      },
    );

    it('does not take another region for the source language', () => {
      const two = '<tu><tuv xml:lang="pt-PT"><seg>a</seg></tuv><tuv xml:lang="ja"><seg>あ</seg></tuv></tu>';
      expect(sources(foreign(two, 'srclang="pt-BR"'))).toEqual([
        'problem: the unit has no text in its source language "pt-BR"',
      ]);
    });

    it('names the units that it cannot use, and reads the others', () => {
      const units = [
        unit('はい<ph x="1"/>'),
        '<tu><tuv xml:lang="ja"><seg>あ</seg></tuv></tu>',
        '<tu><tuv xml:lang="en"><seg>a</seg></tuv></tu>',
        '<tu><tuv xml:lang="ja"><seg>あ</seg></tuv><tuv xml:lang="en"></tuv></tu>',
        unit('は<b>い</b>'),
        unit('はい'),
      ];
      expect(sources(foreign(units.join('\n')))).toEqual([
        'problem: its text has an empty element "ph", whose code is not in the file',
        'problem: the unit has no translation',
        'problem: the unit has no text in its source language "ja"',
        'problem: a text of the unit has no language or no "seg"',
        'problem: its text has the element "b"',
        'はい',
      ]);
    });
  });

  describe('a hostile file', () => {
    it.each<[string, string, string, number | null]>([
      ['is another document', '<xliff/>', 'structure_invalid', 1],
      ['has another version', '<tmx version="2.0"/>', 'structure_invalid', 1],
      ['is cut off', foreign(unit('はい')).slice(0, -20), 'syntax_invalid', 4],
      ['defines entities', foreign('', '', '<!DOCTYPE tmx [<!ENTITY a "b">]>\n'), 'structure_invalid', 2],
      ['uses an unknown entity', foreign(unit('&a;')), 'syntax_invalid', 4],
      ['has a unit within a unit', foreign('<tu><tu></tu></tu>'), 'structure_invalid', 4],
      ['is nested too deep', foreign(`<tu>${'<x>'.repeat(40)}`), 'limit_exceeded', 4],
      ['has too many languages', foreign(`<tu>${'<tuv/>'.repeat(101)}</tu>`), 'limit_exceeded', 4],
      ['has a text that is too long', foreign(unit('あ'.repeat(2 ** 20 + 1))), 'limit_exceeded', 4],
      [
        'names a character that does not exist',
        foreign(unit('<ph type="x-code-point">110000</ph>')),
        'structure_invalid',
        4,
      ],
    ])('that %s is refused with line and reason', (_, document, reason, line) => {
      expect(refusal(document)).toEqual({ reason, line });
    });

    it('is read or refused, never a crash: 2,000 mutations', () => {
      const original = Buffer.from(write([RECORD, { ...RECORD, record_id: 'tm_2' }]));
      let refused = 0;
      for (const mutation of mutations(original, { seed: 15, count: campaignSize(2000, 40_000) })) {
        try {
          read(mutation);
        } catch (error) {
          if (!(error instanceof ExchangeFileError)) throw error;
          refused += 1;
        }
      }
      expect(refused).toBeGreaterThan(500);
    });
  });
});
