import { describe, expect, it } from 'vitest';
import type { IndexedUnit } from '../../../../../src/daemon/parse/index/units-after.ts';
import { createTargetOffers } from '../../../../../src/daemon/translation/judge/offer-targets.ts';
import { createSilentLogger } from '../../../../../src/platform/logging/logging.ts';
import { TEST_PAIR } from '../../../../support/glossary-terms.ts';

const unit = (sourceText: string, other: Partial<IndexedUnit> = {}): IndexedUnit => ({
  position: 0,
  ordinal: 0,
  unitId: new Uint8Array(16),
  sourceDigest: new Uint8Array(32),
  sourceText,
  fieldPath: '/Text',
  speaker: null,
  scene: null,
  destination: 'a.json',
  archiveEntry: null,
  pathId: null,
  format: 'json',
  parseStatus: 'parsed',
  carriedBy: null,
  ...other,
});

const AUTHOR = { kind: 'machine', tokenId: null } as const;
const offered = (source: IndexedUnit, around: readonly IndexedUnit[] = []) => ({
  source: { unit: source, before: around.slice(0, -1), after: around.slice(-1) },
  unitId: 'tu1_x',
  targetText: '是',
  author: AUTHOR,
  provider: 'openai',
  provider_run_id: 'run',
  task_id: 'tt_1',
});

describe('offering targets to the memory', () => {
  it('proposes them with their place, their neighbours and where they come from', async () => {
    const proposals: unknown[] = [];
    const offers = createTargetOffers({
      memory: {
        propose: (batch) => {
          proposals.push(...batch);
          return Promise.resolve([]);
        },
      },
      languages: () => TEST_PAIR,
      logger: createSilentLogger(),
    });
    const full = unit('はい', { archiveEntry: 'b', speaker: 'アロナ', scene: 's' });
    const long = `${'あ'.repeat(499)}😀`;
    expect(
      await offers.offer([offered(full, [unit('前の前'), unit('前'), unit(long)])], 'worker', 'r1'),
    ).toBe(true);
    expect(await offers.offer([offered(unit('はい'))], 'task_update', 'r1')).toBe(true);
    const languages = { source_language: 'ja', target_language: 'zh-Hans' };
    const provenance = {
      origin: 'worker',
      provider: 'openai',
      provider_run_id: 'run',
      task_id: 'tt_1',
      unit_id: 'tu1_x',
      release_id: 'r1',
    };
    expect(proposals).toEqual([
      {
        ...languages,
        source_text: 'はい',
        target_text: '是',
        context: {
          destination: 'a.json',
          archive_entry: 'b',
          field_path: '/Text',
          speaker: 'アロナ',
          scene: 's',
          previous: '前',
          next: `${'あ'.repeat(499)}\ufffd`,
        },
        provenance,
        author: AUTHOR,
      },
      {
        ...languages,
        source_text: 'はい',
        target_text: '是',
        context: { destination: 'a.json', field_path: '/Text' },
        provenance: { ...provenance, origin: 'task_update' },
        author: AUTHOR,
      },
    ]);
  });

  it('says when the memory did not take them', async () => {
    const offers = createTargetOffers({
      memory: { propose: () => Promise.reject(new Error('closed')) },
      languages: () => TEST_PAIR,
      logger: createSilentLogger(),
    });
    expect(await offers.offer([offered(unit('はい'))], 'worker', 'r1')).toBe(false);
    expect(await offers.offer([], 'worker', 'r1')).toBe(true);
  });
});
