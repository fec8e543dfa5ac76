import { describe, expect, it } from 'vitest';
import type { ParseStore } from '../../../../src/localization/parse/run/index-worker.ts';
import { searchUnits, type SearchQuery } from '../../../../src/localization/parse/search-units.ts';
import { unitIdText } from '../../../../src/localization/unit-id-text.ts';
import { NO_PROVENANCE } from '../../../../src/localization/translation/work/store/target-rows.ts';
import { callerInProcess } from '../../../support/caller-in-process.ts';
import { indexRelease, sha256, unitIdOf, type ModelFile } from '../../../support/index-release.ts';
import { buildTasks, openTestWork, resultsOf, type TestWork } from '../../../support/translation-work.ts';

const SIGNAL = new AbortController().signal;

/** Sources by file; `translate` gives targets to some of them. */
function open(files: Readonly<Record<string, readonly string[]>>): TestWork {
  const work = openTestWork();
  indexRelease(work.index, 'r1', modelFiles(files));
  buildTasks(work, 10);
  return work;
}

function modelFiles(files: Readonly<Record<string, readonly string[]>>): ModelFile[] {
  return Object.entries(files).map(([destination, texts]) => ({
    destination,
    leaves: [{ units: texts.map((text, at) => [`k${at}`, text] as const) }],
  }));
}

/** A worker translates every unit that `targets` names by its source; the others stay without a target. */
function translate(
  work: TestWork,
  targets: ReadonlyMap<string, string> | ((source: string, at: number) => string),
) {
  const sourceOf = sourcesOf(work);
  let count = 0;
  const targetOf = (source: string): string | undefined => {
    count += 1;
    return typeof targets === 'function' ? targets(source, count - 1) : targets.get(source);
  };
  for (;;) {
    const claim = { owner: 'w1', leaseSeconds: 50, maxAttempts: 3, taskId: null, after: null };
    const lease = work.at(20).claimChunk(claim);
    if (lease === null) return;
    const sources = lease.units.map(({ unitId }) => sourceOf.get(unitIdText(unitId)));
    const results = resultsOf(
      lease,
      (at) => targetOf(sources[at] ?? '') ?? '',
      (at) => sources[at] ?? '',
    ).filter(({ target }) => target.text !== '');
    const provenance = { ...NO_PROVENANCE, taskId: lease.taskId, releaseId: 'r1' };
    work.at(21).storeResults({ token: lease.token, results, provenance });
  }
}

/** The sources of the release by unit. */
function sourcesOf(work: TestWork): ReadonlyMap<string, string> {
  const sources = new Map<string, string>();
  for (let offset: number | null = 0; offset !== null;) {
    const { items, next_offset: next } = work.index.textUnits({ offset, limit: 1000 });
    for (const { unit_id: id, source_text: text } of items) sources.set(id, text);
    offset = next;
  }
  return sources;
}

/**
 * @param ticks milliseconds that each look at the clock takes
 * @param before runs before each call of the index
 */
async function search(
  work: TestWork,
  query: Partial<SearchQuery>,
  ticks = 0,
  before: (call: 'status' | 'scanUnits' | 'unitsAt') => void = () => undefined,
) {
  const { index } = work;
  const store = {
    status: () => {
      before('status');
      return { index: index.status(), replacement: null };
    },
    scanUnits: (scan) => {
      before('scanUnits');
      return index.scanUnits(scan);
    },
    unitsAt: (named) => {
      before('unitsAt');
      return index.unitsAt(named);
    },
  } satisfies Partial<ParseStore> as unknown as ParseStore;
  let time = 0;
  const page = await searchUnits(
    {
      thread: callerInProcess(store),
      targets: {
        places: (request) => Promise.resolve(work.targetPlaces(request)),
        match: (request) => Promise.resolve(work.matchTargets(request)),
        inconsistent: (request) => Promise.resolve(work.inconsistentUnits(request)),
      },
      now: () => (time += ticks),
    },
    { offset: 0, limit: 100, ...query },
    SIGNAL,
  );
  return { next: page.next_offset, sources: page.items.map(({ source_text: source }) => source), page };
}

/** Every page of a search, each of `limit` units at most. */
async function allOf(work: TestWork, query: Partial<SearchQuery>, limit: number, ticks = 0) {
  const found: string[] = [];
  for (let offset: number | null = 0; offset !== null;) {
    const { sources, next } = await search(work, { ...query, offset, limit }, ticks);
    expect(sources.length).toBeLessThanOrEqual(limit);
    if (next !== null) expect(next).toBeGreaterThan(offset);
    found.push(...sources);
    offset = next;
  }
  return found;
}

const FILES = {
  'a/one.json': ['「先生、おはよう', 'さようなら', '50%_OFF'],
  'a/two.json': ['おはようございます', 'SKILL up'],
  'b/three.json': ['「先生です', '知らない'],
};
const TARGETS = new Map([
  ['「先生、おはよう', '「Good morning, Teacher'],
  ['さようなら', 'Goodbye, teacher'],
  ['おはようございます', 'Good morning'],
  ['「先生です', '「I am the Sensei'],
  ['知らない', 'İstanbul'],
]);

function translated(): TestWork {
  const work = open(FILES);
  translate(work, TARGETS);
  return work;
}

describe('the search for texts', () => {
  it.each<[string, Partial<SearchQuery>, readonly string[]]>([
    ['sources, translated or not', { text: 'おはよう' }, ['「先生、おはよう', 'おはようございます']],
    ['sources of one character', { text: '知' }, ['知らない']],
    ['sources in another case', { text: 'skill UP' }, ['SKILL up']],
    ['signs that mean something to SQL', { text: '%_o' }, ['50%_OFF']],
    ['translations in another case', { text: 'TEACHER' }, ['「先生、おはよう', 'さようなら']],
    ['translations of two characters', { text: 'am' }, ['「先生です']],
    ['sources alone', { text: '先生', text_in: 'source' }, ['「先生、おはよう', '「先生です']],
    ['translations alone', { text: 'おはよう', text_in: 'target' }, []],
    ['nothing', { text: 'キヴォトス' }, []],
    ['units without a translation', { unit_state: 'untranslated' }, ['50%_OFF', 'SKILL up']],
    ['several states', { unit_state: 'blocked,draft', path_pattern: 'b/**' }, ['「先生です', '知らない']],
    ['a text in one state', { text: '先生', unit_state: 'draft' }, ['「先生、おはよう', '「先生です']],
    ['a state that there is not', { unit_state: 'nothing' }, []],
    ['a speaker', { speaker: 'アロナ' }, ['「先生、おはよう', '「先生です']],
    ['a speaker and a translation', { speaker: 'アロナ', text: 'sensei' }, ['「先生です']],
    ['a folder', { text: 'おはよう', path_pattern: 'a/two*' }, ['おはようございます']],
    ['a kind of author', { author: 'machine', path_pattern: 'b/*' }, ['「先生です', '知らない']],
    ['a provider', { author: 'fixture', text: '先生' }, ['「先生、おはよう', '「先生です']],
    ['a unit by its id', { unit_id: unitIdText(unitIdOf('b/three.json', 'k1')) }, ['知らない']],
    ['no unit by an id that is none', { unit_id: 'tu1_none' }, []],
    ['a letter whose small form has two characters', { text: 'İstan' }, ['知らない']],
    ['another author', { author: 'person' }, []],
    ['a field', { text: 'おはよう', field_path: '/k0', destination: 'a/one.json' }, ['「先生、おはよう']],
  ])('finds %s', async (_what, query, sources) => {
    const work = translated();
    expect(await search(work, query)).toMatchObject({ sources, next: null });
    // Small pages, and pages for which the time is up after one step, have the same units in the same order.
    expect(await allOf(work, query, 1)).toEqual(sources);
    expect(await allOf(work, query, 100, 600)).toEqual(sources);
  });

  it('finds the newest translation of a unit only, and one that is stale', async () => {
    const work = translated();
    const target = { unitId: unitIdOf('b/three.json', 'k0'), sourceDigest: sha256('「先生です') };
    work.at(30).claimChunk({ owner: 'w1', leaseSeconds: 50, maxAttempts: 3, taskId: null, after: null });
    store(work, { ...target, text: '「It is Sensei Hoshino' });
    expect((await search(work, { text: 'I am' })).sources).toEqual([]);
    expect((await search(work, { text: 'hoshino' })).sources).toEqual(['「先生です']);
    indexRelease(work.index, 'r2', modelFiles({ ...FILES, 'b/three.json': ['「先生だ', '知らない'] }));
    // The tasks of the release are not built yet: every unit is looked at.
    expect((await search(work, { text: 'hoshino' })).sources).toEqual(['「先生だ']);
    buildTasks(work, 40);
    expect((await search(work, { text: 'hoshino', unit_state: 'stale' })).sources).toEqual(['「先生だ']);
  });

  it('finds translations of a batch that the index has taken, and those that came after it', async () => {
    const texts = Array.from({ length: 1_100 }, (_, at) => `原文${at}番`);
    const work = open({ 'a.json': texts });
    translate(work, (source) => `target ${source.slice(2, -1)}`);
    for (const at of [0, 999, 1_000, 1_099]) {
      expect(
        (await search(work, { text: `target ${at}`, text_in: 'target', unit_state: 'draft' })).sources,
      ).toContain(texts[at]);
    }
    expect((await search(work, { text: 'target 1099' })).sources).toEqual([texts[1_099]]);
  });

  it('says where it goes on when its time is up', async () => {
    const work = openTestWork();
    const texts = Array.from({ length: 30_000 }, (_, at) => `text ${at}`);
    indexRelease(work.index, 'r1', modelFiles({ 'a.json': texts }));
    const first = await search(work, { text: 'text 29999', text_in: 'source' }, 600);
    expect(first).toMatchObject({ sources: [], next: 20_000, page: { total: 30_000 } });
    expect(await search(work, { text: 'text 29999', text_in: 'source', offset: 20_000 }, 600)).toMatchObject({
      sources: ['text 29999'],
      next: null,
    });
  });

  it.each(['scanUnits', 'unitsAt'] as const)(
    'begins again when another release is indexed before %s, a bounded number of times',
    async (changed) => {
      const work = translated();
      let changes = 0;
      /** Indexes a release with one more file in front, so that every place is another one. */
      const indexNext = (): void => {
        changes += 1;
        const added = { [`a/a${changes}.json`]: ['更新'] };
        indexRelease(work.index, `r${changes + 1}`, modelFiles({ ...FILES, ...added }));
      };
      const once = await search(work, { text: 'teacher', limit: 1 }, 0, (call) => {
        if (call === changed && changes === 0) indexNext();
      });
      expect(once).toMatchObject({ sources: ['「先生、おはよう'], page: { release_id: 'r2', total: 8 } });
      expect((await search(work, { text: 'teacher', offset: once.next ?? -1 })).sources).toEqual([
        'さようなら',
      ]);
      changes = 1;
      const always = search(work, { text: 'teacher' }, 0, (call) => {
        if (call === changed) indexNext();
      });
      await expect(always).rejects.toMatchObject({
        code: 'backend_unavailable',
        options: { retryAfter: 5 },
      });
      expect(changes).toBe(4);
    },
  );
});

/** A person stores a target. */
function store(
  work: TestWork,
  { unitId, sourceDigest, text }: { unitId: Buffer; sourceDigest: Buffer; text: string },
): void {
  const [task] = work.tasks({ offset: 0, limit: 1, destination: 'b/three.json' }).items;
  const done = work.applyUpdate({
    taskId: task?.task_id ?? '',
    status: 'in_progress',
    results: [
      {
        unitId,
        sourceDigest,
        sourceText: '「先生です',
        text,
        pointer: '',
        findings: [],
        qaIdentity: null,
        judgedBy: { key: 'rules', generation: null },
      },
    ],
    failureReason: null,
    providerRunId: null,
    provider: null,
    judgedFor: work.currentTasks(),
    override: null,
    workerId: null,
    leaseSeconds: null,
    reviewer: null,
    reason: null,
    force: true,
    tokenId: 'token-1',
    expect: [],
    waive: [],
    hold: [],
    isTrial: false,
  });
  if (done.isRefused) throw new Error(done.detail);
}

describe('the view of what is inconsistent', () => {
  const INCONSISTENT = {
    'a.json': ['はい', 'いいえ', 'そう', 'だめ'],
    'b.json': ['はい', 'いいえ', 'うん', 'はい'],
  };

  it('has the units of one source with several translations, together', async () => {
    const work = open(INCONSISTENT);
    const seen = new Set<string>();
    translate(work, (source) => {
      const target = seen.has(source) && source === 'はい' ? 'Yeah' : `T ${source}`;
      seen.add(source);
      return target;
    });
    expect(await search(work, { same: 'source' })).toMatchObject({
      sources: ['はい', 'はい'],
      next: null,
    });
    expect((await search(work, { same: 'source', path_pattern: 'a*' })).sources).toEqual([]);
    expect((await search(work, { same: 'target' })).sources).toEqual([]);
  });

  it('has the units of several sources with one translation, a group on one page', async () => {
    const work = open(INCONSISTENT);
    translate(
      work,
      (source) => ({ はい: 'Yes', うん: 'Yes', そう: 'Yes', いいえ: 'No', だめ: 'No' })[source] ?? '',
    );
    const all = (await search(work, { same: 'target' })).sources;
    expect(all.toSorted()).toEqual(['いいえ', 'うん', 'そう', 'だめ', 'はい', 'はい']);
    const first = await search(work, { same: 'target', limit: 5 });
    expect(new Set(first.sources)).toEqual(new Set(['いいえ', 'だめ']));
    const second = await search(work, { same: 'target', limit: 5, offset: first.next ?? -1 });
    expect(new Set(second.sources)).toEqual(new Set(['はい', 'うん', 'そう']));
    expect(second.next).toBeNull();
    expect((await search(work, { same: 'source' })).sources).toEqual([]);
  });

  it('leaves out a translation of the source that a unit had before', async () => {
    const work = open({ 'a.json': ['はい'], 'b.json': ['うん'] });
    translate(work, () => 'Yes');
    expect((await search(work, { same: 'target' })).sources.toSorted()).toEqual(['うん', 'はい']);
    indexRelease(work.index, 'r2', modelFiles({ 'a.json': ['はい'], 'b.json': ['はい'] }));
    buildTasks(work, 40);
    expect((await search(work, { unit_state: 'stale' })).page.items).toMatchObject([
      { destination: 'b.json' },
    ]);
    expect((await search(work, { same: 'target' })).sources).toEqual([]);
  });

  it('compares every unit of a text, lists some of them, and says so', async () => {
    const work = open({ 'a.json': Array.from({ length: 1100 }, () => 'はい') });
    translate(work, (_source, at) => (at === 1099 ? 'Yeah' : 'Yes'));
    const { page, next } = await search(work, { same: 'source' });
    expect([page.items.length, next]).toEqual([20, null]);
    expect(page.items.every(({ is_group_cut: isCut }) => isCut === true)).toBe(true);
    expect(page.items.slice(0, 2).map(({ field_path: path }) => path)).toContain('/k1099');
    // A group that is larger than a page is cut, and not found again.
    const small = await search(work, { same: 'source', limit: 3 });
    expect([small.sources.length, small.next]).toEqual([3, null]);
  });

  it('ends a page between the groups of one key, also where its texts are long', async () => {
    // All translations are alike but for their last character, so they have one key.
    const texts = Array.from({ length: 12 }, (_, at) => `text ${at}`);
    const work = open({ 'a.json': texts });
    translate(work, (source) => `Yes${Math.floor(Number(source.slice(5)) / 2)}`);
    expect((await allOf(work, { same: 'target' }, 3)).toSorted()).toEqual(texts.toSorted());
    const { page } = await search(work, { same: 'target' });
    const end = page.endAfter(5);
    expect(end.items).toBe(4);
    const rest = await search(work, { same: 'target', offset: end.next ?? -1 });
    const first = page.items.slice(0, end.items).map(({ source_text: source }) => source);
    expect([...first, ...rest.sources].toSorted()).toEqual(texts.toSorted());
    // The first group is not found again for ever.
    expect(
      (await search(work, { same: 'target', offset: page.endAfter(1).next ?? -1 })).sources,
    ).toHaveLength(10);
  });

  it('asks to try again while the tasks are not built', async () => {
    const work = openTestWork();
    indexRelease(work.index, 'r1', modelFiles(INCONSISTENT));
    await expect(search(work, { same: 'source' })).rejects.toMatchObject({
      code: 'backend_unavailable',
      options: { retryAfter: 5 },
    });
  });
});
