import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../../../demo/game/seeded-random.ts';
import { withGuard, withoutGuard } from '../../../src/contract/formats/csv/spreadsheet-guard.ts';
import { ExchangeFileError } from '../../../src/contract/formats/exchange-file-error.ts';
import {
  endingChoice,
  endingOf,
  formatChoice,
  formatOfFile,
  type FormatName,
} from '../../../src/contract/formats/exchange-formats.ts';
import { createUnitReader, readUnits, writeUnits } from '../../../src/exchange/units/unit-formats.ts';
import type { ReadUnit } from '../../../src/exchange/units/unit-record.ts';
import {
  fileOf,
  LANGUAGES,
  readFile,
  sampleUnit,
  UNIT_FORMAT_NAMES,
  unitRecords,
  withoutState,
} from '../../support/exchange-units.ts';
import { campaignSize } from '../../support/long.ts';
import { mutations } from '../../support/mutate.ts';

describe('the ending of a file', () => {
  describe('endingOf', () => {
    it.each([
      ['memory.tmx', 'tmx'],
      ['folder.d/Terms.CSV', 'csv'],
      ['units.2026.jsonl', 'jsonl'],
      ['csv', ''],
      ['units.', ''],
    ])('of %s is "%s"', (name, ending) => {
      expect(endingOf(name)).toBe(ending);
    });
  });

  describe('formatOfFile', () => {
    it.each([
      ['units.xlf', 'xliff-1.2'],
      ['units.XLIFF', 'xliff-1.2'],
      ['units.csv', 'csv'],
      ['units.jsonl', 'jsonl'],
      ['units.txt', null],
      ['jsonl', null],
    ])('of %s is %s', (name, format) => {
      expect(formatOfFile('units', name)).toBe(format);
    });

    it('prefers the format that is given', () => {
      expect(formatOfFile('units', 'units.csv', 'xliff-2.1')).toBe('xliff-2.1');
      expect(formatOfFile('units', 'units.csv', 'tmx')).toBeNull();
    });
  });

  describe('the formats as a choice', () => {
    it('are told in a sentence', () => {
      expect(formatChoice('terms')).toBe('TBX or CSV');
      expect(endingChoice('memory')).toBe('.tmx or .jsonl');
    });
  });
});

/** The units of a file in which every unit can be used. */
async function unitsOf(
  format: FormatName<'units'>,
  file: string | Uint8Array,
  pieceBytes?: number,
): Promise<ReadUnit[]> {
  const results = await readFile(format, typeof file === 'string' ? Buffer.from(file) : file, pieceBytes);
  return results.map((result) => {
    if (result.kind !== 'unit') throw new Error(result.message);
    return result.unit;
  });
}

async function problemsOf(format: FormatName<'units'>, file: string): Promise<unknown[]> {
  const results = await readFile(format, Buffer.from(file));
  return results.map((result) =>
    result.kind === 'problem' ? [result.line, result.unit_id, result.reason] : 'unit',
  );
}

async function refusal(format: FormatName<'units'>, file: string | Uint8Array): Promise<string> {
  try {
    await unitsOf(format, file);
  } catch (error) {
    if (!(error instanceof ExchangeFileError)) throw error;
    return `${error.reason}: ${error.message}`;
  }
  return 'accepted';
}

function one(unit: string): string {
  return `<?xml version="1.0"?>\n<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file original="a.json" source-language="ja" target-language="zh" datatype="plaintext"><header><note>n</note></header><body><group>\n${unit}</group></body></file></xliff>`;
}

function two(unit: string): string {
  return `<?xml version="1.0"?>\n<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="ja" trgLang="zh"><file id="f" original="a.json"><notes><note>n</note></notes><group id="g">\n${unit}</group></file></xliff>`;
}

/** Whether the beginning of a file is a file: a table or a catalog says nothing about the number of its units. */
function isWhole(format: FormatName<'units'>, before: string, next: string): boolean {
  if (format === 'csv') return /(?:\n|"\r)$/.test(before) || next === '\r';
  if (format !== 'po') return false;
  const message = before.slice(before.lastIndexOf('msgctxt "'));
  return message.includes('msgstr "') && /["\n]$|\n\n/.test(message);
}

describe('files of units', () => {
  describe.each(UNIT_FORMAT_NAMES)('a file of units as %s', (format) => {
    it('gives every unit back as it was written, in any pieces', async () => {
      await fc.assert(
        fc.asyncProperty(
          unitRecords(format),
          fc.integer({ min: 1, max: 50 }),
          async (records, pieceBytes) => {
            const file = await fileOf(format, records);
            expect(await unitsOf(format, file, pieceBytes)).toEqual(records.map(withoutState));
          },
        ),
        { numRuns: 150 },
      );
    });

    it('is refused when it is cut off within a unit', async () => {
      const file = await fileOf(format, [
        sampleUnit(),
        sampleUnit({ unit_id: 'tu1_b', previous_target: 'a' }),
      ]);
      const text = file.toString();
      const [start, end] =
        format === 'xlsx' ? [1, file.length] : [text.indexOf('tu1_mz'), text.indexOf('tu1_b') + 100];
      for (let length = start; length < end; length += format === 'xlsx' ? 13 : 1) {
        const before = format === 'xlsx' ? file.subarray(0, length) : text.slice(0, length);
        if (isWhole(format, String(before), text[length] ?? '')) continue;
        const reason = await refusal(format, Buffer.from(before));
        expect(`${reason} ${JSON.stringify(String(before).slice(-20))}`).toMatch(
          /^(?:syntax|structure)_invalid: line \d+: /,
        );
      }
    });

    it('is streamed', async () => {
      const parts: Buffer[] = [];
      const refused: string[] = [];
      const records = [
        sampleUnit(),
        sampleUnit({ unit_id: 'tu1_b', note: '\ud800' }),
        sampleUnit({ unit_id: 'tu1_c' }),
      ];
      const written = writeUnits({ format, languages: LANGUAGES }, records, {
        written: () => undefined,
        refused: ({ unit_id: id }, message) => refused.push(`${id}: ${message}`),
      });
      for await (const part of written) parts.push(Buffer.from(part));
      const ids: (string | null)[] = [];
      for await (const result of readUnits(
        createUnitReader(format),
        (async function* () {
          yield* parts;
        })(),
      )) {
        ids.push(result.kind === 'unit' ? result.unit.unit_id : result.message);
      }
      if (format === 'jsonl') expect([ids.length, refused]).toEqual([3, []]);
      else {
        expect(ids).toEqual(['tu1_mzxw6ytboi2dgnbvgy3tqojqga', 'tu1_c']);
        expect(refused).toEqual([
          expect.stringMatching(
            /^tu1_b: unit tu1_b: (?:note: )?\w+ cannot carry .*(?:U\+D800|the column note|NUL and lone)/,
          ),
        ]);
      }
    });
  });

  describe('the languages of a file', () => {
    it.each(['xliff-1.2', 'xliff-2.1', 'po', 'jsonl'] as const)('are read from %s', async (format) => {
      const reader = createUnitReader(format);
      reader.write(await fileOf(format, [sampleUnit()]));
      expect(reader.languages()).toEqual(LANGUAGES);
    });
  });

  describe('XLIFF of other tools', () => {
    it.each([
      ['<trans-unit id="1"><source>a</source></trans-unit>', null],
      ['<trans-unit id="1"><source>a</source><target/></trans-unit>', null],
      ['<trans-unit id="1"><source>a</source><target>b</target></trans-unit>', 'b'],
      ['<trans-unit id="1" approved="yes"><source>a</source><target>b</target></trans-unit>', 'b'],
      ['<trans-unit id="1"><source>a</source><target state="new">b</target></trans-unit>', 'b'],
      ['<trans-unit id="1"><source>a</source><target state="x-mine">b</target></trans-unit>', 'b'],
      ['<trans-unit id="1"><source>a</source><target state="needs-l10n">b</target></trans-unit>', 'b'],
      [
        '<trans-unit id="1"><source>a</source><seg-source><mrk mtype="seg" mid="0">a</mrk></seg-source><target state="final"><mrk mtype="seg" mid="0">b</mrk></target><alt-trans><source>x</source><target>y</target></alt-trans></trans-unit>',
        'b',
      ],
      // The qualifiers of ours that translate-toolkit leaves at the states that it sets.
      ...['x-stale', 'x-draft', 'x-blocked', 'x-acme', 'leveraged-mt'].map((qualifier): [string, string] => [
        `<trans-unit id="1"><source>a</source><target state="translated" state-qualifier="${qualifier}">b</target></trans-unit>`,
        'b',
      ]),
      [
        '<trans-unit id="1"><source>a</source><target state="done" state-qualifier="x-draft">b</target></trans-unit>',
        'b',
      ],
      // A copy of the source for OmegaT, and the same text where a person vouches for it.
      [
        '<trans-unit id="1"><source>a</source><target state="needs-translation">a</target></trans-unit>',
        null,
      ],
      [
        '<trans-unit id="1"><source>a</source><target state="needs-translation" state-qualifier="x-stale">a</target></trans-unit>',
        null,
      ],
      ['<trans-unit id="1"><source>a</source><target state="needs-translation">b</target></trans-unit>', 'b'],
      ['<trans-unit id="1"><source>a</source><target state="translated">a</target></trans-unit>', 'a'],
      ['<trans-unit id="1"><source>a</source><target>a</target></trans-unit>', 'a'],
    ])('1.2: %s', async (unit, target) => {
      const found = await unitsOf('xliff-1.2', one(unit));
      expect(found.map(({ source_text, target_text }) => [source_text, target_text])).toEqual([
        ['a', target],
      ]);
    });

    it.each([
      ['<unit id="1"><segment><source>a</source></segment></unit>', 'a', null],
      [
        '<unit id="1"><segment state="initial"><source>a</source><target>b</target></segment></unit>',
        'a',
        'b',
      ],
      [
        '<unit id="1"><segment state="reviewed" subState="acme:x"><source>a</source><target>b</target></segment></unit>',
        'a',
        'b',
      ],
      ['<unit id="1"><segment state="done"><source>a</source><target>b</target></segment></unit>', 'a', 'b'],
      [
        '<unit id="1"><segment state="translated" subState="slipway:stale"><source>a</source><target>b</target></segment></unit>',
        'a',
        'b',
      ],
      ['<unit id="1"><segment state="done"><source>a</source></segment></unit>', 'a', null],
      [
        '<unit id="1"><segment state="initial" subState="slipway:copied"><source>a</source><target>a</target></segment></unit>',
        'a',
        null,
      ],
      [
        '<unit id="1"><segment state="initial"><source>a</source><target>a</target></segment></unit>',
        'a',
        'a',
      ],
      [
        '<unit id="1"><segment state="final"><source>a。</source><target>b。</target></segment><ignorable><source> </source></ignorable><segment state="translated"><source>c</source><target><mrk id="m" type="term">d</mrk></target></segment></unit>',
        'a。 c',
        'b。 d',
      ],
      [
        '<unit id="1" xmlns:m="urn:oasis:names:tc:xliff:matches:2.0"><m:matches><m:match ref="#a"><source>x</source><target>y</target></m:match></m:matches><segment><source>a</source></segment></unit>',
        'a',
        null,
      ],
    ])('2: %s', async (unit, source, target) => {
      const found = await unitsOf('xliff-2.1', two(unit));
      expect(found.map(({ source_text, target_text }) => [source_text, target_text])).toEqual([
        [source, target],
      ]);
    });

    it('1.2 is translated by a program that shows targets alone, as OmegaT 3.6 does', async () => {
      const units = [
        sampleUnit({ unit_id: 'tu1_a', source_text: 'おはよう', target_text: null, state: 'untranslated' }),
        sampleUnit({ unit_id: 'tu1_b', source_text: '先生', target_text: null, state: 'untranslated' }),
        sampleUnit({ unit_id: 'tu1_c', source_text: '敵', target_text: null, state: 'stale' }),
        sampleUnit({ unit_id: 'tu1_d', source_text: '剣', target_text: '剑', state: 'proofread' }),
      ];
      // It translates the contents of targets, leaves their states, and shows nothing of an empty one.
      const memory = new Map([
        ['おはよう', '早上好'],
        ['敵', '敌人'],
      ]);
      const shown: string[] = [];
      const file = (await fileOf('xliff-1.2', units)).toString();
      const translated = file.replaceAll(
        /(<target[^>]*>)([^<]+)(?=<)/g,
        (_match, tag: string, text: string) => {
          shown.push(text);
          return tag + (memory.get(text) ?? text);
        },
      );
      expect(shown).toEqual(['おはよう', '先生', '敵', '剑']);
      expect((await unitsOf('xliff-1.2', translated)).map((unit) => unit.target_text)).toEqual([
        '早上好',
        null,
        '敌人',
        '剑',
      ]);
    });

    it('1.1 is read as 1.2 is', async () => {
      const file = one(
        '<trans-unit id="1"><source>a</source><target state="signed-off">b</target></trans-unit>',
      );
      expect(await unitsOf('xliff-1.2', file.replaceAll('1.2', '1.1'))).toEqual(
        await unitsOf('xliff-1.2', file),
      );
    });

    it.each(['xliff-1.2', 'xliff-2.1'] as const)(
      '%s shows copies of the sources to programs, and gets none back',
      async (format) => {
        const records = [
          sampleUnit({ target_text: null, state: 'untranslated' }),
          sampleUnit({ unit_id: 'tu1_b', target_text: null, state: 'stale', previous_target: 'x' }),
          sampleUnit({ unit_id: 'tu1_c', target_text: sampleUnit().source_text }),
        ];
        for (const copies of [true, false]) {
          const file = (await fileOf(format, records, copies)).toString();
          expect(file.match(/今日/g)).toHaveLength(copies ? 6 : 4);
          expect(await unitsOf(format, file)).toEqual(records.map(withoutState));
        }
      },
    );

    it.each([
      ['Shift_JIS', Buffer.of(0x8a, 0xbf), '漢'],
      ['GB18030', Buffer.of(0xba, 0xba), '汉'],
      ['EUC-JP', Buffer.of(0xb4, 0xc1), '漢'],
    ])('is read in the encoding that it declares: %s', async (encoding, bytes, text) => {
      const [before = '', after = ''] = one('<trans-unit id="1"><source>|</source></trans-unit>').split('|');
      const file = Buffer.concat([
        Buffer.from(before.replace('"1.0"', `"1.0" encoding="${encoding}"`)),
        bytes,
        Buffer.from(after),
      ]);
      for (const pieceBytes of [1, 7, 1000])
        expect((await unitsOf('xliff-1.2', file, pieceBytes))[0]?.source_text).toBe(text);
      expect(await refusal('xliff-1.2', Buffer.concat([Buffer.from('\ufeff'), file]))).toMatch(
        /^encoding_invalid: line 3: the bytes/,
      );
      expect(await refusal('xliff-1.2', file.toString('latin1').replace(encoding, 'x-none'))).toMatch(
        /^encoding_invalid: line 1: the file declares the encoding "x-none", which is not known; save/,
      );
    });

    it('keeps notes of people', async () => {
      const [unit] = await unitsOf(
        'xliff-2.1',
        two(
          '<unit id="1"><notes><note>一</note><note category="x">二</note></notes><segment><source>a</source></segment></unit>',
        ),
      );
      expect(unit?.note).toBe('一\n二');
    });

    it.each([
      [
        'xliff-1.2',
        one('<trans-unit id="1"><source>a<g id="1">b</g></source></trans-unit>'),
        'inline_element_unsupported',
      ],
      ['xliff-1.2', one('<trans-unit id="1"><target>b</target></trans-unit>'), 'value_invalid'],
      [
        'xliff-1.2',
        one('<trans-unit id="1"><source>a</source><target>b</target><target>c</target></trans-unit>'),
        'value_invalid',
      ],
      [
        'xliff-1.2',
        one('<trans-unit id="1"><source>a</source><note from="x-slipway-revision">-1</note></trans-unit>'),
        'value_invalid',
      ],
      [
        'xliff-2.1',
        two('<unit id="1"><segment><source>a<ph id="1"/></source></segment></unit>'),
        'inline_element_unsupported',
      ],
      [
        'xliff-2.1',
        two(
          '<unit id="1"><segment><source>a</source><target>b</target></segment><segment><source>c</source></segment></unit>',
        ),
        'segments_unsupported',
      ],
      // A tool has split a unit with a copy of its source, and only one part is translated.
      [
        'xliff-2.1',
        two(
          '<unit id="1"><segment state="translated"><source>a</source><target>b</target></segment><segment state="initial" subState="slipway:copied"><source>c</source><target>c</target></segment></unit>',
        ),
        'segments_unsupported',
      ],
      [
        'xliff-2.1',
        two('<unit id="1"><segment><source>a</source><target order="2">b</target></segment></unit>'),
        'segments_unsupported',
      ],
    ] as const)('%s names the unit that it cannot use: %s', async (format, file, reason) => {
      expect(await problemsOf(format, file)).toEqual([[3, '1', reason]]);
    });

    it.each([
      ['<a/>', /^structure_invalid: line 1: the document is "a", not xliff/],
      ['<xliff/>', /^structure_invalid: line 1: the document is XLIFF without a version/],
      [
        '<xliff version="2.2" xmlns="urn:oasis:names:tc:xliff:document:2.2"/>',
        /^structure_invalid: line 1: the document is XLIFF 2\.2, in the namespace ".*2\.2"; versions 1\.1, 1\.2, 2\.0 and 2\.1/,
      ],
      [
        '<xliff version="2.2" xmlns="urn:oasis:names:tc:xliff:document:2.0"/>',
        /^structure_invalid: line 1: the document is XLIFF 2\.2/,
      ],
      [
        '<xliff version="1.2"/>',
        /the namespace of XLIFF 1\.2 is "urn:oasis:names:tc:xliff:document:1\.2", and the document has none; write xmlns=/,
      ],
      ['<xliff version="1.0"/>', /^structure_invalid: line 1: the document is XLIFF 1\.0/],
      [two('<unit id="1"><unit id="2"/></unit>'), /^structure_invalid: line 3: a unit is within a unit/],
      [two('<segment/>'), /^structure_invalid: line 3: a segment is outside/],
      [
        two('<unit id="1"><segment><source><cp hex="110000"/></source></segment></unit>'),
        /^structure_invalid: line 3: "110000"/,
      ],
      [two('<unit id="1"><segment>\n<source>&#1;</source></segment></unit>'), /^syntax_invalid: line 4: /],
      [
        two(`<unit id="1"><segment><source>${'x'.repeat(2 ** 20 + 1)}</source></segment></unit>`),
        /^limit_exceeded: line 3: a text has more than 1048576/,
      ],
    ])('is refused with line and reason', async (file, expected) => {
      expect(await refusal('xliff-2.1', file)).toMatch(expected);
    });
  });

  describe('a table', () => {
    it.each([
      ['semicolons', 'unit_id;source_text;target_text\r\n1;a,b;"c;d"\r\n'],
      ['tabs and LF', 'unit_id\tsource_text\ttarget_text\n1\ta,b\tc;d'],
      ['other names, order and columns', '\ufeffTarget, mine ,SOURCE,id\r"c;d",x,"a,b",1\r\r'],
    ])('is read with %s', async (_, file) => {
      const found = await unitsOf('csv', file);
      expect(
        found.map(({ unit_id, source_text, target_text }) => [unit_id, source_text, target_text]),
      ).toEqual([['1', 'a,b', 'c;d']]);
    });

    it('takes the column of the exact name where another one has a name of the same meaning', async () => {
      const found = await unitsOf('csv', 'unit_id,source,target,ID\ntu1_a,a,b,1\ntu1_b,c,d,2\n');
      expect(found.map(({ unit_id: id }) => id)).toEqual(['tu1_a', 'tu1_b']);
    });

    it('is read in UTF-16, as spreadsheets save it', async () => {
      const file = Buffer.from('\ufeffid\tsource\ttarget\r\n1\t漢\t汉\r\n', 'utf16le');
      expect((await unitsOf('csv', file, 3))[0]?.target_text).toBe('汉');
    });

    it.each([
      ['', /^structure_invalid: line 1: the table has no row of names/],
      ['id,source\n', /^structure_invalid: line 1: the first row does not name the column target_text$/],
      ['id,source,target,note,note\n', /^structure_invalid: line 1: .*note 2 times/],
      ['id,source,target\n1,"a\rb\r\nc\r","\nb"x,c\n', /^syntax_invalid: line 6: a cell continues/],
      ['source,target,translation\n', /^structure_invalid: line 1: .*target_text 2 times/],
      ['id,source,target\n1,a', /^structure_invalid: line 2: the row has 2 cells instead of 3/],
      ['id,source,target\n1,"a\nb"x,c\n', /^syntax_invalid: line 3: a cell continues/],
      ['id,source,target\n1,"a\n\n', /^syntax_invalid: line 2: a quote is not closed/],
      [`id,source,target\n1,${'x'.repeat(2 ** 20 + 17)},b\n`, /^limit_exceeded: line 2: a cell has more/],
      [Buffer.from([0x69, 0x64, 0x0a, 0x93]), /^encoding_invalid: line 2: /],
    ])('is refused with line and reason', async (file, expected) => {
      expect(await refusal('csv', file)).toMatch(expected);
    });

    it('names the units that it cannot use', async () => {
      const file =
        'id,source,target,state,context,destination,field_path\n,a,b,,,,\n1,a,b,done,,,\n2,a,b,,[],,\n3,a,b,Draft,"{""speaker"":1}",,\n,a,b,,,d,f\n';
      expect(await problemsOf('csv', file)).toEqual([
        'unit',
        'unit',
        [4, '2', 'value_invalid'],
        [5, '3', 'value_invalid'],
        'unit',
      ]);
    });
  });

  describe('a catalog of gettext', () => {
    it.each([
      ['msgid "a"\nmsgstr "b"\n', [null, 'b', null]],
      [
        '# mine\n# too\n#, c-format, fuzzy\nmsgctxt "1"\r\nmsgid "a"\r\nmsgstr "" "b"'.replace(
          '"" "',
          '""\n"',
        ),
        ['1', 'b', 'mine\ntoo'],
      ],
      [
        '#~ msgid "x"\n#~ msgstr "y"\n\n#| msgid "old"\nmsgid "a"\nmsgstr ""\n\n#~ msgid "z"\n',
        [null, null, null],
      ],
      ['msgid "a"\nmsgstr "\\303\\251\\n\\x41\\q"\n', [null, 'é\nAq', null]],
      ['#. x-slipway {"state":\nmsgid "a"\nmsgstr "b"\n', [null, 'b', null]],
      ['#. x-slipway\n#. {"unit_id":"u1"}\n#. {}\nmsgid "a"\nmsgstr "b"\n', [null, 'b', null]],
    ])('is read as other programs write it: %j', async (file, expected) => {
      const found = await unitsOf('po', file, 5);
      expect(found.map(({ unit_id, target_text, note }) => [unit_id, target_text, note])).toEqual([expected]);
      expect(found[0]?.source_text).toBe('a');
    });

    it('keeps its values where polib breaks comments at blanks and hyphens', async () => {
      const unit = sampleUnit({ note: 'one two-three', previous_target: 'four - five', revision: 6 });
      const broken = (await fileOf('po', [unit])).toString().replace('#. x-slipway ', '#. x-slipway\n#. ');
      expect(/^#\. \{.*$/m.exec(broken)?.[0].slice(3)).not.toMatch(/[ -]/);
      expect(await unitsOf('po', broken)).toEqual([withoutState(unit)]);
    });

    it('has the encoding and the languages that its header declares', async () => {
      const header =
        'msgid ""\nmsgstr ""\n"Language: zh_Hans\\n"\n"X-Source-Language: ja\\n"\n"Content-Type: text/plain; charset=Shift_JIS\\n"\n\nmsgid "';
      const file = Buffer.concat([Buffer.from(header), Buffer.of(0x8a, 0xbf), Buffer.from('"\nmsgstr ""\n')]);
      for (const pieceBytes of [1, 1000])
        expect((await unitsOf('po', file, pieceBytes))[0]?.source_text).toBe('漢');
      expect(await refusal('po', file.toString('latin1').replace('Shift_JIS', 'x-none'))).toMatch(
        /^encoding_invalid: line 1: .*"x-none"/,
      );
      const onOneLine = file
        .toString('latin1')
        .replace('msgstr ""\n"', 'msgstr "')
        .replace('\\n"\n"X-Source', '\\nX-Source')
        .replace('\\n"\n"Content', '\\nContent');
      expect(onOneLine).toContain('msgstr "Language: zh_Hans\\nX-Source-Language: ja\\nContent-Type');
      expect((await unitsOf('po', Buffer.from(onOneLine, 'latin1')))[0]?.source_text).toBe('漢');
      const template = header.replace('Shift_JIS', 'CHARSET');
      expect((await unitsOf('po', `${template}é"\nmsgstr ""\n`))[0]?.source_text).toBe('é');
    });

    it('names the messages that it cannot use', async () => {
      const plural = 'msgid "a"\nmsgid_plural "b"\nmsgstr[0] "c"\nmsgstr[1] "d"\n';
      expect(await problemsOf('po', `msgid "x"\nmsgstr "y"\n\nmsgctxt "7"\n${plural}`)).toEqual([
        'unit',
        [4, '7', 'value_invalid'],
      ]);
    });

    it.each([
      ['', /^structure_invalid: line 1: the file contains no gettext messages/],
      ['msgid "a"\n', /^structure_invalid: line 2: a message has no msgstr; the file may be cut off/],
      [
        'msgid "a"\n\n# next\nmsgstr "b"\nmsgstr "c"\n',
        /^structure_invalid: line 5: the message has msgstr twice/,
      ],
      ['msgid "a\n', /^syntax_invalid: line 1: a string is not closed/],
      ['msgid "a" b\n', /^syntax_invalid: line 1: a string is not closed, or continues after/],
      ['\n"a"\n', /^syntax_invalid: line 2: expected msgid, msgstr or msgctxt and a quoted string/],
      ['source,target\n', /^syntax_invalid: line 1: expected msgid/],
      ['msgid "\\377"\nmsgstr ""\n', /^encoding_invalid: line 1: the bytes of an escape/],
      [`msgid "${'x'.repeat(2 ** 20 + 1)}"\n`, /^limit_exceeded: line 1: a text has more than 1048576/],
      [
        `# ${'x'.repeat(2 ** 20)}\n#  y\n`,
        /^limit_exceeded: line 2: the comment of a message has more than 1048576/,
      ],
      [`\n\n${'x'.repeat(26_000_000)}`, /^limit_exceeded: line 3: the line has more than 25165824/],
    ])('is refused with line and reason', async (file, expected) => {
      expect(await refusal('po', file)).toMatch(expected);
    });
  });

  describe('the guard of spreadsheets', () => {
    it.each([
      '=1+1',
      '+1',
      '-5',
      '@x',
      '\tx',
      '＝1',
      '007',
      '1/2',
      '3月4日',
      '1e5',
      '-7245034128462131467',
      'TRUE',
      'Mar 1',
      '1-Apr',
      "'=1",
    ])('stands before %j', async (cell) => {
      expect(withGuard(cell)).toBe(`'${cell}`);
    });

    it.each(['', 'a=1', "it's", "'quoted'", '3つの剣', '漢字', 'March on'])(
      'leaves %j alone',
      async (cell) => {
        expect(withGuard(cell)).toBe(cell);
        expect(withoutGuard(cell)).toBe(cell);
      },
    );

    it('is undone exactly', async () => {
      const cell = fc
        .array(fc.constantFrom("'", '=', '-', '1', '/', ' ', 'a', '月'), { maxLength: 6 })
        .map((each) => each.join(''));
      fc.assert(
        fc.property(cell, (text) => {
          expect(withoutGuard(withGuard(text))).toBe(text);
        }),
      );
    });
  });

  describe('JSON lines', () => {
    it('may lack the first and the last line', async () => {
      expect(
        (await unitsOf('jsonl', '{"unit_id":"1","source_text":"a","target_text":"b","more":1}\r\n\n'))[0],
      ).toMatchObject({
        unit_id: '1',
        target_text: 'b',
        locator: null,
      });
    });

    it.each([
      ['{"unit_id":"1"}\n[]\n', /^syntax_invalid: line 2: /],
      ['{"unit_id":"1"}\n{"unit_', /^syntax_invalid: line 2: .*cut off/],
      [
        '{"format":"slipway-units-1"}\n{"unit_id":"1","source_text":"a"}\n',
        /^structure_invalid: line 2: the last line is missing/,
      ],
      [
        '{"format":"slipway-units-1"}\n{"end":true,"units":1}\n',
        /^structure_invalid: line 2: the file has 0 units/,
      ],
      ['{"end":true,"units":0}\n{}\n', /^structure_invalid: line 2: the file continues/],
      ['{"unit_id":"1"}\n{"format":"slipway-units-1"}\n', /^structure_invalid: line 2: a second file/],
      [
        '{"unit_id":"1"}\n{"unit_id":"2","target_text":"a","target_text":"b"}\n',
        /^structure_invalid: line 2: .*target_text/,
      ],
    ])('%j is refused with line and reason', async (file, expected) => {
      expect(await refusal('jsonl', file)).toMatch(expected);
    });

    it('is refused when a line is longer than any unit, without waiting for its end', async () => {
      const reader = createUnitReader('jsonl');
      const piece = Buffer.alloc(2 ** 20, 'x');
      expect(() => {
        for (let at = 0; at < 30; at += 1) reader.write(piece);
      }).toThrow('line 1: the line is too long');
    });

    it('names the units that it cannot use', async () => {
      const lines = [
        '{"unit_id":"1"}',
        '{"source_text":"a"}',
        '{"unit_id":1,"source_text":"a"}',
        '{"unit_id":"1","source_text":"a","state":"x"}',
        '{"unit_id":"1","source_text":"a","revision":1.5}',
      ];
      expect(await problemsOf('jsonl', lines.join('\n'))).toEqual([
        [1, '1', 'value_invalid'],
        'unit',
        [3, null, 'value_invalid'],
        'unit',
        [5, '1', 'value_invalid'],
      ]);
    });
  });
});

/** Of each format. */
const FILES = campaignSize(700, 40_000);
/** Parts that attack readers of XML and tables. */
const HOSTILE: readonly Buffer[] = [
  '<!DOCTYPE x [<!ENTITY a "&b;&b;&b;"><!ENTITY b "bbbbbbbbbb">]>',
  '<!DOCTYPE x SYSTEM "file:///etc/passwd">',
  '<!ENTITY % p SYSTEM "http://127.0.0.1/">',
  '&a;&#0;&#xD800;&#x110000;',
  '<cp hex="D800"/><cp hex=""/>',
  '<![CDATA[',
  ']]>',
  '<!--',
  '<?xml version="1.1" encoding="Shift_JIS"?>',
  '<unit id="1">',
  '<source>',
  '</target>',
  '"',
  '\u0000',
  '\ufeff',
  '\r',
  '{"end":true,"units":1}\n',
  '['.repeat(2000),
  '<a>'.repeat(50),
].map((text) => Buffer.from(text));

describe(`${FILES} mutated files of units of each format`, () => {
  it.each(UNIT_FORMAT_NAMES)(
    'as %s are read or refused with line and reason, and never end a program',
    async (format) => {
      const original = await fileOf(format, [
        sampleUnit(),
        sampleUnit({
          unit_id: 'tu1_b',
          source_text: 'と\u0003',
          note: '注',
          previous_source: 'お',
          previous_target: '您',
        }),
        sampleUnit({ unit_id: 'tu1_c', target_text: null, state: 'untranslated', context: {} }),
      ]);
      const random = createRandom(15);
      let refused = 0;
      for (const copy of mutations(original, { seed: 15, count: FILES })) {
        const at = random.below(copy.length + 1);
        const isHostile = random.below(2) === 0;
        const parts = [copy.subarray(0, at), random.pick(HOSTILE), copy.subarray(at)];
        try {
          const bytes = isHostile ? Buffer.concat(parts) : copy;
          for (const result of await readFile(format, bytes, 1 + random.below(200))) {
            if (result.kind === 'unit') expect(typeof result.unit.source_text).toBe('string');
            else expect(result.message).not.toBe('');
          }
        } catch (error) {
          refused += 1;
          expect(error).toBeInstanceOf(ExchangeFileError);
          expect((error as ExchangeFileError).message).toMatch(/^line \d+: ./);
        }
      }
      // A mutation that a reader accepts changes a text, and one that it refuses changes the structure.
      expect(refused).toBeGreaterThan(FILES / 10);
      expect(refused).toBeLessThan(FILES);
    },
  );
});
