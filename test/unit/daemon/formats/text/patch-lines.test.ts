import { describe, expect, it } from 'vitest';
import { DOTTED_SYNTAX } from '../../../../../src/daemon/formats/collect/path-syntax.ts';
import { decodeText } from '../../../../../src/daemon/formats/text/decode-text.ts';
import { patchLines } from '../../../../../src/daemon/formats/text/patch-lines.ts';
import { readLines } from '../../../../../src/daemon/formats/text/read-lines.ts';
import { READ_LIMITS } from '../../../../../src/daemon/formats/value-visitor.ts';
import { editedTexts, patchErrorOf, randomEdits, textsByPath } from '../../../../support/random-edits.ts';

const textsOf = (bytes: Uint8Array): ReadonlyMap<string, string> =>
  textsByPath(DOTTED_SYNTAX, (visitor) => {
    readLines(decodeText(bytes), { visitor, limits: READ_LIMITS, reportPartError: () => undefined });
  });

const edit = (line: number, source: string, target: string) => ({
  fieldPath: `line[${line}]`,
  source,
  target,
});

describe('patchLines', () => {
  it('changes the edited lines, and keeps line ends and the end of the file', () => {
    const file = '\uFEFF一\r\n\n二\r三\n\n四';
    const edits = [edit(0, '一', ''), edit(1, '', 'one'), edit(5, '四', 'four 🎉')];
    expect(patchLines(Buffer.from(file), edits).toString()).toBe('\uFEFF\r\none\n二\r三\n\nfour 🎉');
    expect(patchLines('a\n', [edit(0, 'a', '')])).toBe('\n');
  });

  it.for([
    ['a\nb', edit(1, 'b', 'one\ntwo')],
    ['a\nb', edit(1, 'b', 'one\r')],
    ['a\nb', edit(1, 'b', '')],
    ['a\nb', edit(0, 'a', '\uFEFFc')],
    ['a\nb', edit(0, 'a', '\0')],
  ] as const)('refuses for %j the edit %j', ([file, refused]) => {
    expect(patchErrorOf(() => patchLines(Buffer.from(file), [refused]))).toEqual({
      code: 'character_not_allowed',
      fieldPath: refused.fieldPath,
    });
  });

  it.for(['utf8', 'utf16le'] as const)('reads back exactly, whatever is edited: %s', (encoding) => {
    const lines = Array.from({ length: 30 }, (_, line) => (line % 4 === 0 ? '' : `${line}行目`));
    const file = Buffer.from(`${encoding === 'utf8' ? '' : '\uFEFF'}${lines.join('\r\n')}\n`, encoding);
    const texts = textsOf(file);
    for (let seed = 1; seed <= 100; seed += 1) {
      const edits = randomEdits(texts, seed, (target) => !/[\r\n\uFEFF]/.test(target));
      const patched = patchLines(file, edits);
      expect(textsOf(patched)).toEqual(editedTexts(texts, edits));
      const back = edits.map(({ fieldPath, source, target }) => ({
        fieldPath,
        source: target,
        target: source,
      }));
      expect(patchLines(patched, back).equals(file)).toBe(true);
    }
  });
});
