import { describe, expect, it } from 'vitest';
import { openTestWork } from '../../../../support/translation-work.ts';

describe('the record of files for translators', () => {
  it('has the newest file last', () => {
    const { exports } = openTestWork();
    expect(exports.last()).toBeNull();
    const first = { releaseId: 'r1', file: 'r1.xlf', sha256: 'ab'.repeat(32), units: 3, createdAt: 10 };
    const second = { ...first, file: 'r1-2.xlf', units: 4 };
    exports.add(first);
    exports.add(second);
    expect(exports.last()).toEqual(second);
  });
});
