import { describe, expect, it } from 'vitest';
import { diffTexts, type DiffPart } from '../../../src/console/text/diff-texts.ts';
import { insertMissing, missingMarks } from '../../../src/console/text/text-marks.ts';
import {
  invisibleTokens,
  layerSpans,
  readableText,
  tokensOf,
} from '../../../src/console/text/text-tokens.ts';
import { mergeMatches } from '../../../src/console/translate/merge-matches.ts';

function render(parts: readonly DiffPart[]): string {
  const signs = { same: ['', ''], removed: ['[-', '-]'], added: ['{+', '+}'] } as const;
  return parts.map(({ kind, text }) => signs[kind][0] + text + signs[kind][1]).join('');
}

function side(parts: readonly DiffPart[], without: DiffPart['kind']): string {
  return parts.flatMap(({ kind, text }) => (kind === without ? [] : text)).join('');
}

describe('the difference of two texts', () => {
  it('is nothing for equal texts', () => {
    expect(diffTexts('', '')).toEqual([]);
    expect(render(diffTexts('同じ', '同じ'))).toBe('同じ');
  });

  it('names the characters', () => {
    expect(render(diffTexts('先生、{0}を頼みます。', '先生、{0}をお願いします。'))).toBe(
      '先生、{0}を[-頼み-]{+お願いし+}ます。',
    );
    expect(render(diffTexts('abc', 'abxc'))).toBe('ab{+x+}c');
    expect(render(diffTexts('abc', ''))).toBe('[-abc-]');
  });

  it('keeps placeholders, tags and composed characters whole', () => {
    expect(render(diffTexts('<b>{0}</b>', '<i>{1}</b>'))).toBe('[-<b>{0}-]{+<i>{1}+}</b>');
    expect(render(diffTexts('👩‍👩‍👧', '👩‍👩‍👦'))).toBe('[-👩‍👩‍👧-]{+👩‍👩‍👦+}');
  });

  it('does not keep single letters that are equal by chance', () => {
    expect(render(diffTexts('please take care of it', 'please look after it'))).not.toMatch(/\][a-z]\{/);
  });

  it('gives both texts back, whatever they are', () => {
    let seed = 3;
    const next = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return seed % below;
    };
    const word = (): string => ['a', 'b', '漢', '{0}', '\ud83d', '\ude00', '\n'][next(7)] ?? '';
    for (let round = 0; round < 400; round += 1) {
      const [before, after] = [0, 1].map(() => Array.from({ length: next(14) }, word).join('')) as [
        string,
        string,
      ];
      const parts = diffTexts(before, after);
      expect(side(parts, 'added')).toBe(before);
      expect(side(parts, 'removed')).toBe(after);
    }
  });

  it('of long texts that have nothing in common takes bounded time', () => {
    let seed = 11;
    const noise = (length: number, from: number): string =>
      Array.from({ length }, () => {
        seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
        return String.fromCodePoint(from + (seed % 3000));
      }).join('');
    const start = process.cpuUsage().user;
    for (const [before, after] of [
      [noise(10_000, 0x4e00), noise(10_000, 0x4e00)],
      [noise(262_144, 0x4e00), noise(262_144, 0x4e00)],
      ['a '.repeat(5000), 'b '.repeat(5000)],
    ] as const) {
      const parts = diffTexts(before, after);
      expect(side(parts, 'added')).toBe(before);
      expect(side(parts, 'removed')).toBe(after);
    }
    expect(process.cpuUsage().user - start).toBeLessThan(4_000_000);
  });

  it('of a long text with one change names this change', () => {
    const text = 'All of these words are equal. '.repeat(330);
    const changed = `${text.slice(0, 5000)}changed${text.slice(5003)}`;
    const added = diffTexts(text, changed).flatMap((part) => (part.kind === 'added' ? part.text : []));
    expect(added.join('').length).toBeLessThan(10);
  });
});

function shape(text: string, hints = {}): string[] {
  return tokensOf(text, hints).map(({ kind, label }) => (kind === 'text' ? label : `${kind}:${label}`));
}

describe('the tokens of a text', () => {
  describe('tokens of a text', () => {
    it('are its placeholders, tags and the words between them', () => {
      expect(shape('先生、[i]{0}[/i]を<b>お願い</b>%1$s。')).toEqual([
        '先生、',
        'tag:[i]',
        'placeholder:{0}',
        'tag:[/i]',
        'を',
        'tag:<b>',
        'お願い',
        'tag:</b>',
        'placeholder:%1$s',
        '。',
      ]);
    });

    it('count a placeholder that only the report knows, and none inside of another', () => {
      expect(shape('Hi @@NAME@@ (a+b)', { placeholders: ['@@NAME@@', '(a+b)'] })).toEqual([
        'Hi ',
        'placeholder:@@NAME@@',
        ' ',
        'placeholder:(a+b)',
      ]);
      expect(shape('<b>x', { placeholders: ['<b>'] })).toEqual(['tag:<b>', 'x']);
    });

    it('take a square tag of the target from the source that closes it', () => {
      expect(shape('[i]x', { source: '[i]a[/i]' })).toEqual(['tag:[i]', 'x']);
      expect(shape('[OK]')).toEqual(['[OK]']);
    });

    it('show line ends, written ones, and no escaped backslash', () => {
      expect(shape('a\r\nb\nc\\nd\\\\n')).toEqual([
        'a',
        'break:↵',
        'b',
        'break:↵',
        'c',
        'break:\\n',
        'd\\\\n',
      ]);
    });

    it('show what changes the direction, has no width, or is half of a character', () => {
      expect(shape('a\u202eb\u200bc\u0000d\ud83de\t')).toEqual([
        'a',
        'invisible:RLO',
        'b',
        'invisible:zwsp',
        'c',
        'invisible:U+0000',
        'd',
        'invisible:U+D83D',
        'e',
        'invisible:tab',
      ]);
      expect(invisibleTokens('ab\u2066').map(({ start, meaning }) => [start, meaning])).toEqual([
        [2, 'left-to-right isolate (U+2066)'],
      ]);
    });

    it('keep the joiners of one emoji, and show a joiner between letters', () => {
      expect(shape('👩‍👩‍👧')).toEqual(['👩‍👩‍👧']);
      expect(shape('a\u200db')).toEqual(['a', 'invisible:zwj', 'b']);
    });

    it('joined by their place are the text, whatever the text is', () => {
      const pieces = [
        '{0}',
        '<b>',
        '[i]',
        '[/i]',
        '\\n',
        '\r\n',
        '\\',
        '\u202e',
        '\ud800',
        '漢',
        'a',
        '｜漢《かん》',
        '%s',
      ];
      let seed = 7;
      const next = (below: number): number => {
        seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
        return seed % below;
      };
      for (let round = 0; round < 300; round += 1) {
        const text = Array.from({ length: next(30) }, () => pieces[next(pieces.length)]).join('');
        const tokens = tokensOf(text, { placeholders: ['漢a'] });
        expect(tokens.map(({ start, end }) => text.slice(start, end)).join('')).toBe(text);
        const spans = Array.from({ length: 3 }, () => ({ start: next(40), end: next(40) }));
        const runs = layerSpans(text, tokens, spans);
        expect(runs.map((run) => run.text).join('')).toBe(text);
      }
    });

    it('of 10,000 characters with a tag in each third take no time to speak of', () => {
      const text = '<b>漢{0}字\u202e'.repeat(1250);
      const before = process.cpuUsage().user;
      const tokens = tokensOf(text);
      layerSpans(text, tokens, [{ start: 5, end: 9000 }]);
      expect(process.cpuUsage().user - before).toBeLessThan(1_000_000);
      expect(tokens).toHaveLength(6250);
    });
  });

  describe('spans over tokens', () => {
    it('cut words and cover whole chips', () => {
      const text = 'a 漢字 {0} b';
      const runs = layerSpans(text, tokensOf(text), [
        { start: 2, end: 4 },
        { start: 3, end: 6 },
        { start: 90, end: 99 },
        { start: 4, end: 4 },
      ]);
      expect(runs.map((run) => [run.text, run.spans])).toEqual([
        ['a ', []],
        ['漢', [0]],
        ['字', [0, 1]],
        [' ', [1]],
        ['{0}', [1]],
        [' b', []],
      ]);
    });
  });

  describe('missing placeholders and tags', () => {
    const source = '[i]{0}[/i] and {1}';

    it('are those that the target has less often', () => {
      expect(missingMarks(source, '{1} x').map(({ key }) => key)).toEqual(['[i]', '{0}', '[/i]']);
      expect(missingMarks(source, source)).toEqual([]);
    });

    it('are not readings of ruby, which are translated', () => {
      const source = '[ruby=たいいくかん]体育館[/ruby]';
      expect(missingMarks(source, '[ruby=tǐyùguǎn]体育馆[/ruby]')).toEqual([]);
      expect(missingMarks(source, '体育馆').map(({ key }) => key)).toEqual([
        '[ruby=たいいくかん]',
        '[/ruby]',
      ]);
    });

    it('go to the caret one after another', () => {
      const first = insertMissing({ source, target: 'ab' }, { start: 1, end: 1 });
      expect(first).toEqual({ text: 'a[i]b', caret: 4 });
      expect(insertMissing({ source, target: first?.text ?? '' }, { start: 4, end: 4 })).toEqual({
        text: 'a[i]{0}b',
        caret: 7,
      });
      expect(insertMissing({ source, target: source }, { start: 0, end: 0 })).toBeNull();
    });

    it('go around the selected words when both tags of a pair are missing', () => {
      expect(insertMissing({ source: '<b>x</b>', target: 'a word' }, { start: 2, end: 6 })).toEqual({
        text: 'a <b>word</b>',
        caret: 13,
      });
    });
  });
});

type Match = Parameters<typeof mergeMatches>[0][number];

function match(record_id: string, source_text: string, proposed_text: string, use_count: number): Match {
  return { record: { record_id, source_text, use_count }, proposed_text } as Match;
}

describe('matches in a list', () => {
  describe('matches of the Translation Memory', () => {
    it('with the same texts are one row, and a record that is listed twice counts once', () => {
      const merged = mergeMatches([
        match('1', 'a', 'A', 2),
        match('2', 'a', 'A', 3),
        match('3', 'a', 'B', 0),
        match('1', 'a', 'A', 2),
        match('4', 'b', 'A', 1),
      ]);
      expect(merged.map(({ record, more, used }) => [record.record_id, more, used])).toEqual([
        ['1', 1, 5],
        ['3', 0, 0],
        ['4', 0, 1],
      ]);
    });
  });

  describe('a text in a list', () => {
    it.each([
      ['昨日、<ruby=しれいぶ>司令部</ruby>で{0}枚', '昨日、司令部で{0}枚'],
      ['one\ntwo', 'one two'],
      ['<b></b>', '<b></b>'],
    ])('leaves out the tags of %j', (text, shown) => {
      expect(readableText(text)).toBe(shown);
    });
  });
});
