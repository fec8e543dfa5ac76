import { describe, expect, it } from 'vitest';
import { counted } from '../../../src/console/text/format.ts';
import { distinctMatches } from '../../../src/console/translate/editor/distinct-matches.ts';
import { hasChangedSince } from '../../../src/console/translate/publish/publish-results.ts';
import { filePattern } from '../../../src/console/translate/queue/queue-filters.ts';

describe('the lists of the room Translate', () => {
  it('count with the noun that fits', () => {
    expect([0, 1, 2].map((units) => counted(units, 'unit has', 'units have'))).toEqual([
      '0 units have',
      '1 unit has',
      '2 units have',
    ]);
    expect(counted(1, 'task')).toBe('1 task');
  });

  it('search a file by a part of its path, and take a pattern as it is', () => {
    expect(filePattern('Scene0008')).toBe('*Scene0008*');
    expect(filePattern('Scenario/**')).toBe('Scenario/**');
  });

  it('offer a proposal of the memory once, with its best match', () => {
    const matches = ['a', 'b', 'a', 'c', 'b'].map((text, at) => ({ proposed_text: text, at }));
    expect(distinctMatches(matches).map(({ at }) => at)).toEqual([0, 1, 3]);
  });

  it('know a dry run that is older than the last publication or rollback', () => {
    const row = { localized_release_id: 'l1', base_release_id: 'r90', rolled_back: null };
    const published = { ...row, state: 'current', at: 20 };
    expect(hasChangedSince({ history: [published] }, 19)).toBe(true);
    expect(hasChangedSince({ history: [published] }, 20)).toBe(false);
    const rolledBack = {
      ...row,
      state: 'superseded',
      at: 10,
      rolled_back: { at: 30, reviewer: null, reason: null },
    };
    expect(hasChangedSince({ history: [published, rolledBack] }, 25)).toBe(true);
    expect(hasChangedSince({ history: [published, rolledBack] }, 30)).toBe(false);
  });
});
