import { describe, expect, it } from 'vitest';
import { XML_SYNTAX } from '../../../src/formats/collect/path-syntax.ts';
import { decodedString, decodeText } from '../../../src/formats/text/decode-text.ts';
import { READ_LIMITS } from '../../../src/formats/value-visitor.ts';
import { patchXml } from '../../../src/formats/xml/patch-xml.ts';
import { readXml } from '../../../src/formats/xml/read-xml.ts';
import { campaignSize } from '../../support/long.ts';
import { mutations } from '../../support/mutate.ts';
import { editedTexts, patchErrorOf, randomEdits, textsByPath } from '../../support/random-edits.ts';
import { createValueRecorder, formatErrorOf } from '../../support/value-recorder.ts';

const FILE = `<?xml version="1.0" encoding="utf-8"?>
<!-- 注釈 <string>出ない</string> -->
<resources xmlns:x='urn:x' title="題 &quot;名&quot;">
  <string name="a">一 &amp; 二 &#x3042;</string>
  <string name="b"><![CDATA[<b>三</b> & 四]]></string>
  <string name="c">五<b title='六'>七</b>&lt;</string>
  <empty></empty><none/>
  <list><item>八</item>
    <item>九</item></list>
</resources>
`;
const TEXTS = {
  '/resources[1]/@xmlns:x': 'urn:x',
  '/resources[1]/@title': '題 "名"',
  '/resources[1]/string[1]/@name': 'a',
  '/resources[1]/string[1]/text()': '一 & 二 あ',
  '/resources[1]/string[2]/@name': 'b',
  '/resources[1]/string[2]/text()': '<b>三</b> & 四',
  '/resources[1]/string[3]/@name': 'c',
  '/resources[1]/string[3]/text()': "五<b title='六'>七</b>&lt;",
  '/resources[1]/empty[1]/text()': '',
  '/resources[1]/list[1]/item[1]/text()': '八',
  '/resources[1]/list[1]/item[2]/text()': '九',
};

const textsOf = (value: string | Uint8Array): ReadonlyMap<string, string> =>
  textsByPath(XML_SYNTAX, (visitor) => {
    const decoded = typeof value === 'string' ? decodedString(value) : decodeText(value);
    readXml(decoded, { visitor, limits: READ_LIMITS, reportPartError: () => undefined });
  });

function edit(
  fieldPath: keyof typeof TEXTS,
  target: string,
): { fieldPath: string; source: string; target: string } {
  return { fieldPath, source: TEXTS[fieldPath], target };
}

describe('readXml', () => {
  it('reads attributes and contents, a content with markup as one text', () => {
    expect(Object.fromEntries(textsOf(FILE))).toEqual(TEXTS);
  });

  it('gives the positions of the characters between quotes and tags', () => {
    const recorder = createValueRecorder();
    readXml(decodedString(FILE), recorder);
    const raw = recorder.texts.map(({ start, end }) => FILE.slice(start, end));
    expect(raw).toContain('題 &quot;名&quot;');
    expect(raw).toContain('一 &amp; 二 &#x3042;');
    expect(raw).toContain('<b>三</b> & 四');
  });

  it.each([
    ['<a><b></a></b>', {}, 'xml_invalid'],
    ['<a>', {}, 'xml_invalid'],
    ['text', {}, 'xml_invalid'],
    ['<!DOCTYPE a [<!ENTITY b "bb"><!ENTITY c "&b;&b;">]><a>&c;</a>', {}, 'xml_invalid'],
    [`${'<a>'.repeat(65)}${'</a>'.repeat(65)}`, {}, 'nesting_too_deep'],
    ['<a><b/><b/><b/></a>', { elements: 3 }, 'container_limit_exceeded'],
  ])('refuses %j', (text, limits, code) => {
    const read = (): void => {
      readXml(decodedString(text), createValueRecorder(limits));
    };
    expect(formatErrorOf(read)?.code).toBe(code);
  });
});

describe('patchXml', () => {
  it('replaces only the characters of the edits', () => {
    const edits = [
      edit('/resources[1]/@title', '"A" & \'B\' <\n>'),
      edit('/resources[1]/string[1]/text()', 'one < two & ]]>'),
      edit('/resources[1]/string[2]/text()', '<i>three</i>'),
      edit('/resources[1]/string[3]/text()', 'five<b title="six">seven</b>'),
      edit('/resources[1]/list[1]/item[2]/text()', 'nine'),
    ];
    expect(patchXml(FILE, edits)).toBe(
      FILE.replace('題 &quot;名&quot;', "&quot;A&quot; &amp; 'B' &lt;&#10;>")
        .replace('一 &amp; 二 &#x3042;', 'one &lt; two &amp; ]]&gt;')
        .replace('<b>三</b> & 四', '<i>three</i>')
        .replace("五<b title='六'>七</b>&lt;", 'five<b title="six">seven</b>')
        .replace('九', 'nine'),
    );
  });

  it.each(['ISO-8859-1', 'us-ascii'])('writes what %s lacks as references, or refuses it', (encoding) => {
    const file = `<?xml version="1.0" encoding='${encoding}'?>\n<a b="c">d<e><![CDATA[f]]></e></a>`;
    const plain = file.replace('d<e><![CDATA[f]]></e>', 'g');
    const targets = [
      { fieldPath: '/a[1]/@b', source: 'c', target: '😀"é' },
      { fieldPath: '/a[1]/text()', source: 'g', target: '<あ>' },
    ];
    const expected = plain.replace('"c"', '"&#x1F600;&quot;&#xE9;"').replace('>g<', '>&lt;&#x3042;><');
    expect(patchXml(Buffer.from(plain), targets).toString()).toBe(expected);
    const latin = patchXml(Buffer.from(plain), [{ fieldPath: '/a[1]/@b', source: 'c', target: 'é' }], {
      encoding: 'windows-1252',
    });
    expect(latin.toString('latin1')).toBe(plain.replace('"c"', '"é"'));
    const fieldPath = '/a[1]/text()';
    const edits = [{ fieldPath, source: 'd<e><![CDATA[f]]></e>', target: 'é<e>f</e>' }];
    expect(patchErrorOf(() => patchXml(file, edits))).toEqual({ code: 'unencodable_character', fieldPath });
  });

  it.each([
    ['/resources[1]/string[1]/text()', 'a\u0001'],
    ['/resources[1]/string[2]/text()', 'a]]>b'],
    ['/resources[1]/string[3]/text()', 'a<b>'],
    ['/resources[1]/string[3]/text()', 'a</string><string>'],
    ['/resources[1]/string[3]/text()', 'a &amp; b'],
    ['/resources[1]/string[3]/text()', '<b>all</b>'],
  ] as const)('%s: refuses %j', (fieldPath, target) => {
    expect(patchErrorOf(() => patchXml(FILE, [edit(fieldPath, target)]))).toEqual({
      code: 'character_not_allowed',
      fieldPath,
    });
  });

  it.each(['utf8', 'utf16le'] as const)('writes random texts exactly, or refuses them: %s', (encoding) => {
    const file = Buffer.from(`\uFEFF${FILE}`, encoding);
    const texts = textsOf(file);
    let written = 0;
    for (let seed = 1; seed <= 60; seed += 1) {
      for (const each of randomEdits(texts, seed)) {
        let patched: Buffer | null = null;
        const refused = patchErrorOf(() => {
          patched = patchXml(file, [each]);
        });
        if (refused !== null) expect(refused.code).toBe('character_not_allowed');
        if (patched === null) continue;
        expect(textsOf(patched)).toEqual(editedTexts(texts, [each]));
        written += 1;
      }
    }
    expect(written).toBeGreaterThan(150);
  });

  it('reads or refuses every damaged document, and writes what it read', () => {
    const codes = new Set<string>();
    for (const bytes of mutations(Buffer.from(FILE), { seed: 34, count: campaignSize(2000, 40_000) })) {
      // Damaged characters become U+FFFD, so that the reader sees the rest.
      const damaged = bytes.toString();
      const code = formatErrorOf(() => {
        const [[fieldPath, source] = ['', '']] = textsOf(damaged);
        if (fieldPath === '') return;
        const refused = patchErrorOf(() => patchXml(damaged, [{ fieldPath, source, target: source }]));
        if (refused !== null) expect(refused.code).toBe('character_not_allowed');
      });
      codes.add(code?.code ?? 'read');
    }
    expect([...codes].toSorted()).toEqual(['read', 'xml_invalid']);
  });
});
