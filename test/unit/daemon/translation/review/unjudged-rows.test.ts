import { describe, expect, it } from 'vitest';
import { sha256, unitIdOf } from '../../../../support/index-release.ts';
import { openTranslatedTexts } from '../../../../support/translated-texts.ts';

/** Collects two rows of a file, whose first task is replaced by a second release between them. */
async function collectAcrossReleases() {
  const world = await openTranslatedTexts();
  const { reviewId } = world.calls.beginFileReview(null);
  const stage = (file: string, key: string, source: string, line: number) =>
    world.calls.stageLines({
      reviewId,
      lines: [
        {
          line,
          unitId: unitIdOf(file, key),
          sourceText: source,
          sourceDigest: sha256(source),
          text: 'text',
          revision: null,
        },
      ],
    });
  world.build('r1', { 'a.json': { one: 'いち' } });
  expect(stage('a.json', 'one', 'いち', 1)).toEqual(['staged']);
  world.build('r2', { 'a.json': { one: 'いち' }, 'b.json': { two: 'に' } });
  expect(stage('b.json', 'two', 'に', 2)).toEqual(['staged']);
  const by = {
    reviewer: 'Rin',
    reason: null,
    tokenId: null,
    fourEyes: false,
    isPartial: true,
    hasRefused: false,
  };
  return { ...world, reviewId, apply: () => world.calls.applyFileReview({ reviewId, by }) };
}

describe('a reviewed file of which a task was replaced and removed while its rows were collected', () => {
  it('accepts no row that nobody has judged', async () => {
    const world = await collectAcrossReleases();
    const done = world.apply();
    expect(done).toMatchObject({ written: 0, refusedCounts: { revision_changed: 2 } });
    expect(done.refusedLines[1]?.message).toContain('was not judged');
    expect(world.target('b.json', 'two')).toBeNull();
  });
});
