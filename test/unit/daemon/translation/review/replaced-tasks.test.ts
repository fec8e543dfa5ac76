import { expect, it } from 'vitest';
import { judgeReview } from '../../../../../src/daemon/translation/review/review-pages.ts';
import { sha256, unitIdOf } from '../../../../support/index-release.ts';
import { blockingFinding, judgeOf, openTranslatedTexts } from '../../../../support/translated-texts.ts';

it('judges all rows of a file, also when the first ones belong to tasks of the release before', async () => {
  const world = await openTranslatedTexts();
  world.build('r1', { 'a.json': { one: 'いち' } });
  const { reviewId } = world.calls.beginFileReview(null);
  const stage = (file: string, key: string, sourceText: string, line: number) =>
    world.calls.stageLines({
      reviewId,
      lines: [
        {
          line,
          unitId: unitIdOf(file, key),
          sourceText,
          sourceDigest: sha256(sourceText),
          text: 'BAD',
          revision: null,
        },
      ],
    });
  expect(stage('a.json', 'one', 'いち', 1)).toEqual(['staged']);
  world.build('r2', { 'a.json': { one: 'いち' }, 'b.json': { two: 'に' } });
  expect(stage('b.json', 'two', 'に', 2)).toEqual(['staged']);
  const judge = judgeOf(() => [blockingFinding('bad')]);
  await judgeReview({ thread: world.thread, judge, units: world.units }, reviewId);
  const by = {
    reviewer: 'rin',
    reason: null,
    tokenId: null,
    fourEyes: false,
    isPartial: true,
    hasRefused: false,
  };
  expect(world.calls.applyFileReview({ reviewId, by }).written).toBe(0);
  expect(world.target('b.json', 'two')).toBeNull();
});
