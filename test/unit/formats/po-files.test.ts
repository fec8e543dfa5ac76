import { describe, expect, it } from 'vitest';
import { DOTTED_SYNTAX } from '../../../src/formats/collect/path-syntax.ts';
import { patchPo } from '../../../src/formats/po/patch-po.ts';
import { readPo } from '../../../src/formats/po/read-po.ts';
import { decodedString, decodeText } from '../../../src/formats/text/decode-text.ts';
import { READ_LIMITS } from '../../../src/formats/value-visitor.ts';
import { campaignSize } from '../../support/long.ts';
import { mutations } from '../../support/mutate.ts';
import { editedTexts, patchErrorOf, randomEdits, textsByPath } from '../../support/random-edits.ts';
import { createValueRecorder, formatErrorOf } from '../../support/value-recorder.ts';

const FILE = String.raw`# 注釈 "x"
msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\n"

#: scene.tscn:3
msgid "Hello"
msgstr "こんにちは"

msgctxt "menu"
msgid "Open"
msgstr ""

msgid ""
"line 1\n"
"\"line\" 2"
msgstr ""
"一行目\n"
"二行目\t\\"

msgid "%d file"
msgid_plural "%d files"
msgstr[0] "%d個"
msgstr[1] ""

#. note
#, c-format, fuzzy
#| msgid "Quit"
msgid "Leave"
msgstr "終了"

#: fuzzy
msgid "Back"
msgstr "戻る"
#~ msgid "old"
#~ msgstr "古い"
`;
const TEXTS = new Map([
  ['message[1].msgstr', 'こんにちは'],
  ['message[2].msgstr', 'Open'],
  ['message[3].msgstr', '一行目\n二行目\t\\'],
  ['message[4]["msgstr[0]"]', '%d個'],
  ['message[4]["msgstr[1]"]', '%d files'],
  // Message 5 is marked as fuzzy.
  ['message[6].msgstr', '戻る'],
]);

const textsOf = (value: string | Uint8Array): ReadonlyMap<string, string> =>
  textsByPath(DOTTED_SYNTAX, (visitor) => {
    const decoded = typeof value === 'string' ? decodedString(value) : decodeText(value);
    readPo(decoded, { visitor, limits: READ_LIMITS, reportPartError: () => undefined });
  });

describe('readPo', () => {
  it('reads the texts of msgstr, and those of msgid where they are empty', () => {
    expect(textsOf(FILE)).toEqual(TEXTS);
    expect(textsOf(FILE.replaceAll('\n', '\r\n'))).toEqual(TEXTS);
  });

  it('identifies messages by their context and text', () => {
    const recorder = createValueRecorder();
    readPo(decodedString(`${FILE}\nmsgid "${'長'.repeat(300)}"\nmsgstr ""\n`), recorder);
    const keys = recorder.events
      .filter((event) => event.startsWith('@'))
      .map((event) => JSON.parse(event.slice(1)) as string);
    expect(keys.slice(0, 4)).toEqual(['Hello', 'menu\u0004Open', 'line 1\n"line" 2', '%d file']);
    expect(keys.at(-1)).toMatch(/^長{200}…[0-9a-f]{16}$/);
  });

  it('reads escaped bytes as UTF-8, and leaves others as they are written', () => {
    const file = String.raw`msgid "a"
msgstr "\303\251\xE5\x85\x88\303é\q"

msgid "b"
msgstr "\303\251\x41\"b\""

msgid "c"
msgstr "Caf\351\n\"\303\251\""
`;
    expect([...textsOf(file).values()]).toEqual([
      String.raw`\303\251\xE5\x85\x88\303éq`,
      'éA"b"',
      String.raw`Caf\351` + '\n"é"',
    ]);
  });

  it.each([
    ['msgid "a', {}, 'po_invalid'],
    ['msgid "a" b\nmsgstr ""', {}, 'po_invalid'],
    ['"a"', {}, 'po_invalid'],
    ['msgid "a"\nmsgstr "b"\nmsgid "c"\nmsgstr "d"\n', { elements: 1 }, 'container_limit_exceeded'],
  ])('refuses %j', (text, limits, code) => {
    const read = (): void => {
      readPo(decodedString(text), createValueRecorder(limits));
    };
    expect(formatErrorOf(read)?.code).toBe(code);
  });
});

describe('patchPo', () => {
  it('writes lines as gettext does, and everything else stays as it is', () => {
    const edits = [
      { fieldPath: 'message[2].msgstr', source: 'Open', target: '開く "今"' },
      { fieldPath: 'message[1].msgstr', source: 'こんにちは', target: 'a\nb\n' },
    ];
    expect(patchPo(FILE, edits)).toBe(
      FILE.replace('msgid "Open"\nmsgstr ""', 'msgid "Open"\nmsgstr "開く \\"今\\""').replace(
        '"こんにちは"',
        '""\n"a\\n"\n"b\\n"',
      ),
    );
  });

  it('refuses a character that the declared charset may lack', () => {
    const fieldPath = 'message[1].msgstr';
    const fileOf = (charset: string, text = 'b'): Buffer =>
      Buffer.from(
        String.raw`msgid ""
msgstr ""
"Content-Type: text/plain; charset=${charset}\n"

msgid "a"
msgstr "${text}"
`,
      );
    const targetOf = (charset: string, target: string) => () =>
      patchPo(fileOf(charset), [{ fieldPath, source: 'b', target }]);
    for (const charset of ['ISO-8859-1', 'ASCII']) {
      expect(patchErrorOf(targetOf(charset, 'é'))).toEqual({ code: 'unencodable_character', fieldPath });
      expect(targetOf(charset, 'e')()).toEqual(fileOf(charset, 'e'));
    }
    for (const charset of ['UTF-8', 'CHARSET'])
      expect(targetOf(charset, 'é')()).toEqual(fileOf(charset, 'é'));
  });

  it.each(['', 'a\0'])('refuses the text %j', (target) => {
    const edits = [{ fieldPath: 'message[1].msgstr', source: 'こんにちは', target }];
    expect(patchErrorOf(() => patchPo(FILE, edits))).toEqual({
      code: 'character_not_allowed',
      fieldPath: 'message[1].msgstr',
    });
  });

  it('writes random texts exactly', () => {
    const file = Buffer.from(FILE);
    for (let seed = 1; seed <= 100; seed += 1) {
      const edits = randomEdits(TEXTS, seed, (target) => target !== '');
      expect(textsOf(patchPo(file, edits))).toEqual(editedTexts(TEXTS, edits));
    }
  });

  it('reads or refuses every damaged catalog, and writes what it read', () => {
    const codes = new Set<string>();
    for (const bytes of mutations(Buffer.from(FILE), { seed: 34, count: campaignSize(2000, 40_000) })) {
      // Damaged characters become U+FFFD, so that the reader sees the rest.
      const damaged = bytes.toString();
      const code = formatErrorOf(() => {
        const [[fieldPath, source] = ['', '']] = textsOf(damaged);
        if (fieldPath === '' || source === '') return;
        const refused = patchErrorOf(() => patchPo(damaged, [{ fieldPath, source, target: source }]));
        if (refused !== null) expect(refused.code).toMatch(/^(?:character_not_allowed|place_ambiguous)$/);
      });
      codes.add(code?.code ?? 'read');
    }
    expect([...codes].toSorted()).toEqual(['po_invalid', 'read']);
  });
});
