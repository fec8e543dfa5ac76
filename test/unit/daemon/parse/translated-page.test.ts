import { describe, expect, it } from 'vitest';
import { TextUnitsReport } from '../../../../src/contract/reports/report-parse.ts';
import { UNIT_TRANSLATION_EXAMPLE } from '../../../../src/contract/reports/unit-translation.ts';
import type {
  ReadTranslations,
  TranslationsRequest,
} from '../../../../src/daemon/parse/index/unit-translations.ts';
import type { UnitQuery } from '../../../../src/daemon/parse/index/unit-filter.ts';
import { addTranslations } from '../../../../src/daemon/parse/translated-page.ts';
import { indexRelease, openTestIndex } from '../../../support/index-release.ts';

const FOUND = { sourceLanguage: 'ja', targetLanguage: 'zh-Hans', isBuilt: true, history: null };
const SIGNAL = new AbortController().signal;

/** A page of a release with the units `a` to `e`, and what was asked for it. */
async function page(query: Partial<UnitQuery>, answer?: Awaited<ReturnType<ReadTranslations>>) {
  const index = openTestIndex();
  const units = ['a', 'b', 'c', 'd', 'e'].map((key) => [key, `text ${key}`] as const);
  indexRelease(index, 'r1', [
    { destination: 'x.json', leaves: [{ units }] },
    { destination: 'y.json', leaves: [{ units: [['a', 'text']] }] },
  ]);
  const asked: TranslationsRequest[] = [];
  const read: ReadTranslations = (request) => {
    asked.push(request);
    const items = request.units.map((_, at) => ({ ...UNIT_TRANSLATION_EXAMPLE, revision: at }));
    return Promise.resolve(answer ?? { ...FOUND, items });
  };
  const full = { offset: 0, limit: 1000, ...query };
  const body = await addTranslations(index.textUnits(full), full, read, SIGNAL);
  index.close();
  expect(TextUnitsReport.body.strict().parse(body)).toEqual(body);
  return { body, asked: asked[0] };
}

describe('a page of units with translations', () => {
  it('has the translation of each unit, and asks once', async () => {
    const { body, asked } = await page({});
    expect(body.items.map(({ translation }) => translation?.revision)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(body).toMatchObject({
      next_offset: null,
      history: null,
      translations: {
        available: true,
        reason: null,
        source_language: 'ja',
        target_language: 'zh-Hans',
        tasks_built: true,
      },
    });
    expect(asked).toMatchObject({ releaseId: 'r1', generation: body.generation, withHistory: false });
    expect(asked?.units).toEqual(
      body.items.map(({ unit_id, source_digest }) => ({ unitId: unit_id, sourceDigest: source_digest })),
    );
  });

  it('ends where the translations end, and says where the next one begins', async () => {
    const items = [UNIT_TRANSLATION_EXAMPLE, UNIT_TRANSLATION_EXAMPLE];
    const { body } = await page({ offset: 1 }, { ...FOUND, items });
    expect(body.items.map(({ field_path: path }) => path)).toEqual(['/b', '/c']);
    expect(body).toMatchObject({ total: 6, next_offset: 3 });
  });

  it('has the sources and the reason when translations are not available', async () => {
    const { body } = await page({}, { unavailable: 'translation.db cannot be used: it is damaged' });
    expect(body).toMatchObject({
      total: 6,
      history: null,
      translations: { available: false, reason: 'translation.db cannot be used: it is damaged' },
    });
    expect(body.items.map(({ source_text: text, translation }) => [text, translation])[0]).toEqual([
      'text a',
      null,
    ]);
  });

  it.each<[Partial<UnitQuery>, boolean]>([
    [{ destination: 'x.json', field_path: '/a' }, true],
    [{ destination: 'x.json', field_path: '/a', offset: 1 }, false],
    [{ field_path: '/a' }, false],
    [{ field_path: '/b' }, false],
    [{ destination: 'x.json' }, false],
    [{ destination: 'y.json' }, false],
    [{ destination: 'x.json', field_path: '/none' }, false],
  ])('asks for the history when %j selects exactly one unit: %s', async (query, expected) => {
    expect((await page(query)).asked?.withHistory).toBe(expected);
  });
});
