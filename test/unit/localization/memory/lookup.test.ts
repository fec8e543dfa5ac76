import { describe, expect, it, onTestFinished } from 'vitest';
import { comparedCodePoints } from '../../../../src/domain/memory/normalize-text.ts';
import { distanceFrom } from '../../../../src/domain/memory/edit-distance.ts';
import { searchTexts, type ConcordanceQuery } from '../../../../src/localization/memory/store/concordance.ts';
import { memoryIn, openOtherMemory } from '../../../../src/localization/memory/store/memory-database.ts';
import { lookup, memoryFiles, PAIR, proposal, trust } from '../../../support/memory-records.ts';
import { findMatches } from '../../../../src/localization/memory/store/memory-lookup.ts';
import { countRecords } from '../../../../src/localization/memory/store/memory-reads.ts';
import { proposeRecords } from '../../../../src/localization/memory/store/memory-writer.ts';
import { confirmRecord } from '../../../../src/localization/memory/store/memory-changes.ts';
import { indexTexts } from '../../../../src/localization/memory/store/text-index.ts';

describe('the lookup', () => {
  it('finds differences of width and numbers, and similar texts, the best first', async () => {
    const { files } = await memoryFiles();
    trust(
      files,
      proposal('ガチャ券を10枚もらった', '获得了10张抽卡券'),
      proposal('ｶﾞﾁｬ券を10枚もらった', '得到10张抽卡券'),
      proposal('ガチャ券を3枚もらったよ', '获得3张抽卡券啦'),
      proposal('ガチャ券を5枚もらった', '获得了5张抽卡券'),
      proposal('まったく別の文章です', '完全不同的句子'),
    );
    const matches = files.read(null, (store) => findMatches(store, lookup('ガチャ券を10枚もらった')));
    expect(matches.map(({ match_type, score, decision }) => [match_type, score, decision])).toEqual([
      ['exact', 100, 'reuse'],
      ['normalized', 99, 'suggest'],
      ['numbers', 98, 'suggest'],
      ['fuzzy', 75, 'suggest'],
    ]);
    expect(matches[2]?.proposed_text).toBe('获得了10张抽卡券');
  });

  it('finds only what someone confirmed for those who must not see the rest', async () => {
    const { files } = await memoryFiles();
    trust(
      files,
      proposal('ガチャ券を3枚もらったよ', '获得3张抽卡券啦'),
      proposal('ガチャ券を5枚もらった', '五'),
    );
    files.write(null, (store) => {
      proposeRecords(
        store,
        ['ガチャ券を10枚もらった', 'ガチャ券を6枚もらった', 'ガチャ券を7枚もらった'].map((text) =>
          proposal(text, '垃圾'),
        ),
        300,
      );
      indexTexts(store, 1000);
    });
    const targets = (depth: 'all' | 'trusted_similar'): string[] =>
      files.read(null, (store) =>
        findMatches(store, lookup('ガチャ券を10枚もらった', { depth })).map(
          ({ proposed_text: text }) => text,
        ),
      );
    expect(targets('all')).toContain('垃圾');
    expect(targets('trusted_similar').toSorted()).toEqual(['五', '获得3张抽卡券啦'].toSorted());
  });

  it('finds exact texts of any length, and only in its pair of languages', async () => {
    const { files } = await memoryFiles();
    const long = 'あ"*'.repeat(5000);
    trust(
      files,
      proposal('は', '是'),
      proposal(long, '长'),
      proposal('はい', '네', { target_language: 'ko' }),
    );
    files.read(null, (store) => {
      expect(findMatches(store, lookup('は'))).toMatchObject([{ score: 100 }]);
      expect(findMatches(store, lookup(long))).toMatchObject([{ score: 100 }]);
      expect(findMatches(store, lookup('はい'))).toEqual([]);
      expect(countRecords(store).pairs).toEqual([
        { source_language: 'ja', target_language: 'ko', counts: { candidate: 0, trusted: 1 } },
        { source_language: 'ja', target_language: 'zh-Hans', counts: { candidate: 0, trusted: 2 } },
      ]);
    });
  });

  it('finds similar texts only in its pair of languages', async () => {
    const { files } = await memoryFiles();
    const text = 'ガチャ券をもらった';
    trust(
      files,
      proposal(text, '뽑기권을 받았다', { target_language: 'ko' }),
      proposal(text, '获得了抽卡券'),
    );
    const found = (target_language: string): string[] =>
      files.read(null, (store) =>
        findMatches(store, lookup('ガチャ券をもらったよ', { target_language })).map(
          ({ proposed_text }) => proposed_text,
        ),
      );
    expect([found('zh-Hans'), found('ko'), found('fr')]).toEqual([['获得了抽卡券'], ['뽑기권을 받았다'], []]);
  });

  it('does not read search syntax from texts', async () => {
    const { files } = await memoryFiles();
    trust(files, proposal('"a" OR text:b* NEAR(c)', '甲'));
    const matches = files.read(null, (store) => findMatches(store, lookup('"a" OR text:b* NEAR(d)')));
    expect(matches).toMatchObject([{ match_type: 'fuzzy', score: 95 }]);
  });

  it('never reuses when more contexts exist than it looks at', async () => {
    const { files } = await memoryFiles();
    const many = Array.from({ length: 70 }, (_, index) =>
      proposal('はい', index === 69 ? '好' : '是', { context: { speaker: String(index) } }),
    );
    const [first = ''] = trust(files, ...many);
    files.write(null, (store) => {
      // Without a default record, all contexts together decide.
      const replacement = proposal('はい', '嗯', { context: { speaker: '0' } });
      proposeRecords(store, [replacement], 100);
      confirmRecord(store, {
        record_id: replacement.record_id,
        supersede_record_id: first,
        force: false,
        reviewer: 'mika',
        reason: null,
        at: 1,
      });
      expect(findMatches(store, lookup('はい', { depth: 'exact' }))).toMatchObject([
        { proposed_text: '嗯', score: 100 },
      ]);
    });
  });

  it('finds at least 98 of 100 of the similar texts that a comparison with every record finds', async () => {
    const { files } = await memoryFiles();
    const texts = makeTexts(2000);
    files.write(null, (store) =>
      proposeRecords(
        store,
        texts.map((text, index) => proposal(text, `译${index}`)),
        100,
      ),
    );
    expect(files.write(null, (store) => indexTexts(store, 3000))).toBe(texts.length);
    const compared = texts.map(comparedCodePoints);
    let wanted = 0;
    let found = 0;
    for (const [index, text] of texts.slice(0, 200).entries()) {
      const query = editText(text, index);
      const similarity = similarityTo(query);
      const best = Math.max(...compared.map(similarity));
      if (best < 0.75) continue;
      wanted += 1;
      const [match] = files.read(null, (store) => findMatches(store, lookup(query, { limit: 1 })));
      if (match !== undefined && similarity(comparedCodePoints(match.record.source_text)) >= best) found += 1;
    }
    expect(wanted).toBeGreaterThan(150);
    expect(found / wanted).toBeGreaterThanOrEqual(0.98);
  });
});

describe('new records', () => {
  it('are found by similar texts and by the concordance before they are indexed, and not twice after that', async () => {
    const { files } = await memoryFiles();
    files.write(null, (store) => {
      proposeRecords(store, [proposal('学園へようこそ', '欢迎来到学园')], 100);
      indexTexts(store, 1);
      proposeRecords(
        store,
        [proposal('学園へようこそ!', '欢迎来到学园!'), proposal('まったく別の文章です', '无')],
        100,
      );
      const search = () => [
        findMatches(store, lookup('学園へようこそ?')).map(({ record }) => record.target_text),
        searchTexts(store, { ...PAIR, text: 'ようこそ', limit: 10 }).matches.map(
          ({ record }) => record.target_text,
        ),
      ];
      const found = [
        ['欢迎来到学园', '欢迎来到学园!'],
        ['欢迎来到学园', '欢迎来到学园!'],
      ];
      expect(search().map((targets) => targets.toSorted())).toEqual(found);
      expect(indexTexts(store, 1)).toBe(1);
      expect(search().map((targets) => targets.toSorted())).toEqual(found);
      expect(indexTexts(store, 10)).toBe(1);
      expect(indexTexts(store, 10)).toBe(0);
      expect(search().map((targets) => targets.toSorted())).toEqual(found);
    });
  });

  it('are found by exact lookups however many are not indexed, and by similar texts when they are', async () => {
    const { files } = await memoryFiles();
    files.write(null, (store) => {
      const many = Array.from({ length: 2500 }, (_, index) => proposal(`長い物語の文その${index}番`, '句'));
      proposeRecords(store, many, 100);
      expect(findMatches(store, lookup('長い物語の文その7番', { depth: 'exact' }))).toMatchObject([
        { score: 70 },
      ]);
      const isFound = () =>
        findMatches(store, lookup('長い物語の文その7番だ', { limit: 5000 })).some(
          ({ record }) => record.source_text === '長い物語の文その7番',
        );
      expect(isFound()).toBe(false);
      while (indexTexts(store, 1000) > 0);
      expect(isFound()).toBe(true);
    });
  });
});

describe('the concordance', () => {
  it('finds texts within sources and targets, also of one or two characters', async () => {
    const { files, paths } = await memoryFiles();
    trust(
      files,
      proposal('新しい学園生活が始まる', '新的校园生活开始了'),
      proposal('学園へようこそ', '欢迎来到学园'),
      proposal('Ａランクの報酬', 'A级奖励'),
      proposal('学園', '학원', { target_language: 'ko' }),
    );
    const concordance = openConcordance(paths.main);
    const search = (text: string, limit = 10) =>
      concordance({ ...PAIR, text, limit }).matches.map(({ record }) => record.target_text);
    expect(search('学園生活')).toEqual(['新的校园生活开始了']);
    expect(search('校园生活')).toEqual(['新的校园生活开始了']);
    expect(search('学園')).toEqual(['欢迎来到学园', '新的校园生活开始了']);
    expect(search('来到')).toEqual(['欢迎来到学园']);
    expect(search('园')).toEqual(['欢迎来到学园', '新的校园生活开始了']);
    expect(search('始', 1)).toEqual(['新的校园生活开始了']);
    expect(search('aラ')).toEqual(['A级奖励']);
    expect(search('見つからない')).toEqual([]);
    expect(search('無い')).toEqual([]);
  });

  it('finds one or two characters as they are typed, and letters in every case and width', async () => {
    const { files, paths } = await memoryFiles();
    const texts = ['第Ⅱ章', '手順①へ', '水温３℃', '土のpH値', '単位mK等', '半角ｱ字', '題Ｐｈ'];
    trust(files, ...texts.map((text) => proposal(text, '译')));
    const concordance = openConcordance(paths.main);
    const search = (text: string) =>
      concordance({ ...PAIR, text, limit: 10 })
        .matches.map(({ record }) => record.source_text)
        .toSorted();
    expect(['Ⅱ', '①', '℃', 'mK', 'mk', 'ｱ'].map(search)).toEqual([
      ['第Ⅱ章'],
      ['手順①へ'],
      ['水温３℃'],
      ['単位mK等'],
      ['単位mK等'],
      ['半角ｱ字'],
    ]);
    expect(['pH', 'PH', 'ｐｈ'].map(search)).toEqual(Array.from({ length: 3 }, () => ['土のpH値', '題Ｐｈ']));
  });

  it('reads the newest records first when it finds too many', async () => {
    const { files, paths } = await memoryFiles();
    const many = Array.from({ length: 2100 }, (_, at) => proposal(`第${10_000 - at}話`, `句${at}`));
    files.write(null, (store) => proposeRecords(store, many, 100));
    const { matches, isTruncated } = openConcordance(paths.main)({ ...PAIR, text: '話', limit: 5000 });
    const found = new Set(matches.map(({ record }) => record.target_text));
    expect([isTruncated, found.size, found.has('句2099'), found.has('句99')]).toEqual([
      true,
      2000,
      true,
      false,
    ]);
  });

  it('says when a scan for one or two characters ended early, and then finds the older ones by their beginning', async () => {
    const { files, paths } = await memoryFiles();
    const word = (at: number): string => (at === 0 ? '学園の話' : at === 1 ? '古い学園' : `物語その${at}`);
    const many = Array.from({ length: 5100 }, (_, at) => proposal(word(at), `句${at}`));
    files.write(null, (store) => proposeRecords(store, many, 100));
    const searchAt = (...times: readonly number[]) => {
      const left = [...times];
      const concordance = openConcordance(paths.main, () => left.shift() ?? 0);
      const { matches, isTruncated } = concordance({ ...PAIR, text: '学園', limit: 10 });
      return { sources: matches.map(({ record }) => record.source_text), isTruncated };
    };
    expect(searchAt(0, 199, 199)).toEqual({ sources: ['古い学園', '学園の話'], isTruncated: false });
    expect(searchAt(0, 199, 200)).toEqual({ sources: ['学園の話'], isTruncated: true });
    const common = openConcordance(paths.main)({ ...PAIR, text: '語', limit: 10 });
    expect(common).toMatchObject({ isTruncated: true, matches: { length: 10 } });
  });
});

/** Opens the concordance of a file. Without another clock no time passes, so that a slow machine ends no scan early. */
function openConcordance(
  path: string,
  now = () => 0,
): (query: ConcordanceQuery) => ReturnType<typeof searchTexts> {
  const memory = memoryIn(openOtherMemory(path));
  onTestFinished(() => {
    memory.close();
  });
  return (query) => searchTexts(memory, query, now);
}

/** Sentences of a small vocabulary, as a game has them: with names and frequent endings. */
function makeTexts(count: number): string[] {
  const random = createRandom(7);
  const subjects = ['先生', 'アロナ', 'みんな', '生徒会', 'ヒナ', 'わたし', '便利屋', '風紀委員'];
  const objects = [
    '資料',
    '朝ごはん',
    '新しい武器',
    '昨日の手紙',
    'この鍵',
    'ケーキ',
    '報告書',
    '作戦',
    '約束',
    '宿題',
  ];
  const places = ['教室で', '屋上で', '図書館で', '駅の前で', '部室で', '海辺で', ''];
  const verbs = [
    '見つけました',
    '忘れてしまった',
    '持ってきてください',
    '渡したいんです',
    '探しているの',
    '直しておいた',
  ];
  const ends = ['。', 'よ。', '!', 'ね?', '……'];
  const pick = (list: readonly string[]): string => list[Math.floor(random() * list.length)] ?? '';
  const texts = new Set<string>();
  while (texts.size < count) {
    texts.add(
      `${pick(subjects)}は${pick(places)}${pick(objects)}と${pick(objects)}を${pick(verbs)}${pick(ends)}`,
    );
  }
  return [...texts];
}

/** Replaces, removes or inserts some characters. */
function editText(text: string, seed: number): string {
  const random = createRandom(seed + 1);
  const points = Array.from(text);
  for (let edit = 0; edit < 1 + (seed % 3); edit += 1) {
    const at = Math.floor(random() * points.length);
    points.splice(at, seed % 2, '変');
  }
  return points.join('');
}

/** Gives the similarity of other texts to one, as code points. */
function similarityTo(query: string): (text: readonly number[]) => number {
  const wanted = comparedCodePoints(query);
  const distance = distanceFrom(wanted);
  return (text) => {
    const longest = Math.max(wanted.length, text.length);
    return (longest - (distance.to(text, longest) ?? longest)) / longest;
  };
}

function createRandom(seed: number): () => number {
  let state = seed * 2_654_435_761;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
