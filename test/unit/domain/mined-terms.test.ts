import { describe, expect, it } from 'vitest';
import { createTermMiner } from '../../../src/domain/glossary/mine-terms.ts';

type Line = string | readonly [text: string, speaker: string];

function mined(language: string, lines: readonly Line[], minCount = 2, mostEntries?: number) {
  const miner = createTermMiner(language, mostEntries);
  for (const line of lines) {
    const [text, speaker] = typeof line === 'string' ? [line, null] : line;
    miner.add(text, speaker);
  }
  return miner.candidates(minCount).map(({ form, kind, count }) => `${kind} ${form} ${count}`);
}

describe('terms mined from Japanese', () => {
  it('are speakers first, then runs of katakana and kanji, and names of both', () => {
    const lines: readonly Line[] = [
      ['アビドスへようこそ。', 'ホシノ'],
      ['アビドスの砂漠です。', 'ホシノ'],
      ['砂漠でトリニティ総合学園を見た。', 'シロコ'],
      'トリニティ総合学園は遠い。',
    ];
    expect(mined('ja', lines)).toEqual([
      'speaker ホシノ 2',
      'mixed トリニティ総合学園 2',
      'katakana アビドス 2',
      'kanji 砂漠 2',
    ]);
  });

  it('leave out what is nearly always a part of a longer one, and sounds, and keep short names', () => {
    const lines = [
      'ミレニアムサイエンス部',
      'ミレニアムサイエンス部',
      'ココはドキドキ',
      'ココがアアアア',
      'ドキドキ',
    ];
    expect(mined('ja', lines)).toEqual(['mixed ミレニアムサイエンス部 2', 'katakana ココ 2']);
    const often = Array.from({ length: 8 }, () => 'ミレニアムへ');
    expect(mined('ja', [...lines, ...often, 'ミレニアム部', 'ミレニアム部'])[0]).toBe(
      'katakana ミレニアム 10',
    );
  });

  it('count a text once, and do not look into tags and placeholders', () => {
    const lines = ['<color=アカ>ゲヘナ</color>とゲヘナと{ゲヘナ}', '《聖遺物》 ゲヘナ', '【聖遺物】'];
    expect(mined('ja', lines)).toEqual(['katakana ゲヘナ 2', 'bracketed 聖遺物 2']);
  });

  it('have up to three contexts, short and each once', () => {
    const miner = createTermMiner('ja');
    for (const text of [
      'あアビドス',
      'あアビドス',
      `${'い'.repeat(200)}アビドス${'う'.repeat(200)}`,
      'え アビドス',
      'おアビドス',
    ])
      miner.add(text, null);
    const [candidate] = miner.candidates(2);
    expect(candidate).toMatchObject({ form: 'アビドス', count: 5 });
    expect(candidate?.contexts).toHaveLength(3);
    expect(candidate?.contexts[0]).toBe('あアビドス');
    expect(candidate?.contexts[1]).toMatch(/^い{38}アビドスう{38}$/);
  });
});

it('terms mined from Chinese are names in brackets and speakers, since sentences are runs of Han characters', () => {
  expect(mined('zh-Hans', ['他说『圣遗物』很重要', ['『圣遗物』在哪里', '小春'], ['好', '小春']])).toEqual([
    'speaker 小春 2',
    'bracketed 圣遗物 2',
  ]);
});

describe('terms mined from languages with capitals', () => {
  it('are phrases with capitals inside of sentences', () => {
    const lines = [
      'We reached the Abyss Gate at dawn.',
      'Abyss Gate is closed. However, the Sword of Light opens it.',
      'However, I need the Sword of Light!',
      'The Abyss Gate? However far it is.',
    ];
    expect(mined('en', lines)).toEqual(['capitalised Abyss Gate 3', 'capitalised Sword of Light 2']);
  });

  it('are not what titles and shouts write with capitals', () => {
    expect(mined('en', ['Start New Game', 'Start New Game', 'START NEW GAME', 'Save the Game'])).toEqual([]);
  });

  it('know other alphabets', () => {
    expect(mined('ru', ['Мы идём в Белый Город.', 'Где же Белый Город?'])).toEqual([
      'capitalised Белый Город 2',
    ]);
  });
});

it('a miner forgets rare words when there are too many, and keeps the frequent ones', () => {
  const names = Array.from({ length: 3000 }, (_, at) =>
    String.fromCodePoint(0x30a2 + (at % 40), 0x30a2 + Math.floor(at / 40), 0x30f3),
  );
  const lines = names.flatMap((name, at) => (at % 3 === 0 ? [name, 'アビドス'] : [name]));
  const candidates = mined('ja', lines, 100, 500);
  expect(candidates).toEqual(['katakana アビドス 1000']);
});

it('a miner keeps half of its words, also when all are equally rare', () => {
  const names = Array.from({ length: 11 }, (_, at) => [`x`, `Name ${at}`] as const);
  expect(mined('en', names, 1, 10)).toHaveLength(5);
});

it.each(['ja', 'en'])('mining in %s takes time in proportion to a text', (language) => {
  // In quadratic time, this takes minutes.
  const words = Array.from({ length: 30_000 }, (_, at) =>
    language === 'ja' ? `カ${String.fromCodePoint(0x4e00 + (at % 20_000))}ア` : `seen Abc${at}`,
  );
  const text = words.join(language === 'ja' ? 'は' : ' ');
  expect(mined(language, [text], 1).length).toBeGreaterThan(1000);
});
