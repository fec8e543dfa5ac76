import { expect, it } from 'vitest';
import { localizedStatusOf } from '../../../../src/daemon/releases/localized-status.ts';
import type { ReleaseRepository } from '../../../../src/daemon/releases/records/release-repository.ts';

it('the history has the release that became current last, however many were made after it', () => {
  // As the repository lists them: those that were made last are first.
  const rows = Array.from({ length: 25 }, (_, age) => ({
    release_id: `l${25 - age}`,
    base_release_id: 'r1',
    state: 'superseded',
    published_at: age === 24 ? 1000 : 100 - age,
  }));
  const releases = {
    current: () => null,
    pointer: () => null,
    list: (_channel: string, limit: number) => rows.slice(0, limit),
  } as unknown as ReleaseRepository;
  const { history } = localizedStatusOf(releases, () => null);
  expect(history).toHaveLength(20);
  expect(history.slice(0, 2).map(({ localized_release_id: id }) => id)).toEqual(['l1', 'l25']);
});
