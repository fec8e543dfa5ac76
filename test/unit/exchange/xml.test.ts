import { setFlagsFromString } from 'node:v8';
import { Script } from 'node:vm';
import * as fc from 'fast-check';
import { SaxesParser } from 'saxes';
import { describe, expect, it, vi } from 'vitest';
import { isXmlText } from '../../../src/domain/text/xml-characters.ts';
import { ExchangeFileError } from '../../../src/contract/formats/exchange-file-error.ts';
import {
  createXmlReader,
  XML_LIMITS,
  type XmlElement,
  type XmlLimits,
} from '../../../src/exchange/xml/xml-reader.ts';
import {
  emptyElement,
  escapeXmlText,
  startTag,
  textElement,
  xmlParts,
} from '../../../src/exchange/xml/xml-text.ts';

interface Read {
  readonly opened: XmlElement[];
  readonly text: string;
}

function read(bytes: Uint8Array, limits: XmlLimits = XML_LIMITS, pieceBytes = 5): Read {
  const opened: XmlElement[] = [];
  let text = '';
  const reader = createXmlReader(
    {
      open: (element) => void opened.push(element),
      text: (part) => {
        text += part;
      },
      close: () => {},
    },
    limits,
  );
  for (let at = 0; at < bytes.length; at += pieceBytes) reader.write(bytes.subarray(at, at + pieceBytes));
  reader.end();
  return { opened, text };
}

function refusal(document: string | Uint8Array, limits?: XmlLimits): string {
  try {
    read(typeof document === 'string' ? Buffer.from(document) : document, limits);
  } catch (error) {
    if (!(error instanceof ExchangeFileError)) throw error;
    return `${error.reason}: ${error.message}`;
  }
  return 'accepted';
}

const xmlText = fc.string({ unit: 'binary' }).filter(isXmlText);

describe('a document', () => {
  it('is read as it was written, in any pieces', () => {
    fc.assert(
      fc.property(xmlText, xmlText, fc.integer({ min: 1, max: 9 }), (text, value, pieceBytes) => {
        const document = `${startTag('a', { b: value, none: null })}${textElement('c', text)}${emptyElement('d')}</a>`;
        const { opened, text: found } = read(Buffer.from(document), XML_LIMITS, pieceBytes);
        expect(found).toBe(text);
        expect(opened.map(({ name }) => name)).toEqual(['a', 'c', 'd']);
        expect([...(opened[0]?.attributes ?? [])]).toEqual([['b', value]]);
      }),
    );
  });

  it.each(['utf-16le', 'utf-16be'])('is read in %s with a byte order mark', (encoding) => {
    const bytes = Buffer.from('\ufeff<?xml version="1.0" encoding="UTF-16"?><a>漢字</a>', 'utf16le');
    if (encoding === 'utf-16be') bytes.swap16();
    expect(read(bytes).text).toBe('漢字');
  });

  it('has names without prefix, namespaces, lines and CDATA', () => {
    const { opened, text } = read(
      Buffer.from(
        '\ufeff<?xml version="1.0"?>\n<!DOCTYPE x SYSTEM "x.dtd">\n<p:a xmlns:p="urn:p">\n<b xml:lang="ja"/><![CDATA[<&]]></p:a>',
      ),
    );
    expect(opened.map(({ name, namespace, line }) => [name, namespace, line])).toEqual([
      ['a', 'urn:p', 3],
      ['b', '', 4],
    ]);
    expect(opened[1]?.attributes.get('xml:lang')).toBe('ja');
    expect(text).toBe('\n<&');
  });

  it.each([
    ['<a>\n<b></a>', /^syntax_invalid: line 2: /],
    ['<a>\n', /^syntax_invalid: line 2: /],
    ['', /^syntax_invalid: line 1: /],
    ['<a>&x;</a>', /^syntax_invalid: line 1: undefined entity/],
    ['<a b="1" b="2"/>', /^syntax_invalid: line 1: duplicate attribute/],
    ['<a>&#0;</a>', /^syntax_invalid: line 1: /],
    ['<!DOCTYPE a [<!ENTITY x "y">]>\n<a>&x;</a>', /^structure_invalid: line 1: .*document type of its own/],
    ['<!DOCTYPE a SYSTEM "file:///etc/passwd" [\n]><a/>', /^structure_invalid: line 2: /],
    ['<?xml version="1.0" encoding="x-none"?><a/>', /^encoding_invalid: line 1: .*"x-none"/],
    [Buffer.from([0x3c, 0x61, 0x3e, 0x0a, 0x83, 0x41]), /^encoding_invalid: line 2: .*UTF-8/],
    [Buffer.from('<a>漢').subarray(0, 5), /^encoding_invalid: line 1: /],
    [Buffer.from([0xff]), /^encoding_invalid: line 1: /],
    ['<a>'.repeat(33), /^limit_exceeded: line 1: .*32 levels/],
    [
      `<a ${Array.from({ length: 65 }, (_, at) => `a${at}="1"`).join(' ')}/>`,
      /^limit_exceeded: line 1: .*64 attributes/,
    ],
  ])('is refused with line and reason: %j', (document, expected) => {
    expect(refusal(document)).toMatch(expected);
  });

  it.each([
    ['text', '<a>', 'x'],
    ['an attribute', '<a b="', 'x'],
    ['a comment', '<a><!--', 'x'],
    ['a name', '<', 'x'],
    ['a document type', '<!DOCTYPE a "', 'x'],
    ['an entity', '<a>&', 'x'],
    ['an instruction', '<?', 'x'],
    ['CDATA', '<a><![CDATA[', 'x'],
  ])('is refused before %s without end fills the memory', (_, start, part) => {
    let bytes = 0;
    const reader = createXmlReader(
      { open: () => {}, text: () => {}, close: () => {} },
      { ...XML_LIMITS, tokenCharacters: 1000 },
    );
    expect(() => {
      reader.write(Buffer.from(start));
      for (; bytes < 2 ** 20; bytes += 1024) reader.write(Buffer.from(part.repeat(1024)));
    }).toThrow(/a part of the document has more than 1000 characters|name/);
    expect(bytes).toBeLessThan(64 * 1024);
  });
});

describe('the parser', () => {
  it('is an object whose fields V8 does not keep in a hash table, which takes four times as long', () => {
    setFlagsFromString('--allow-natives-syntax');
    const hasFastFields = new Script('(object) => %HasFastProperties(object)').runInThisContext() as (
      object: object,
    ) => boolean;
    const write = vi.spyOn(SaxesParser.prototype, 'write');
    try {
      const reader = createXmlReader({ open: () => {}, text: () => {}, close: () => {} });
      reader.write(
        Buffer.from('<?xml version="1.0" encoding="UTF-8"?><a b="c">d<!-- e --><![CDATA[f]]></a>'),
      );
      const [parser] = write.mock.contexts;
      expect(hasFastFields(parser as object)).toBe(true);
    } finally {
      write.mockRestore();
    }
  });
});

describe('characters that XML cannot carry', () => {
  it('are refused by the writer and separated for elements', () => {
    expect(() => escapeXmlText('a\u0001')).toThrow('XML cannot carry the character U+0001');
    expect(() => startTag('a', { b: '\ud800' })).toThrow('XML cannot carry the character U+D800');
    expect(xmlParts('a\u0001\ud800b𠮟\uffff')).toEqual([
      { text: 'a' },
      { codePoint: 1 },
      { codePoint: 0xd800 },
      { text: 'b𠮟' },
      { codePoint: 0xffff },
    ]);
    expect(xmlParts('')).toEqual([]);
  });
});
