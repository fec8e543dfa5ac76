import { describe, expect, it } from 'vitest';
import { lackOfAutomation } from '../../../../src/cli/dev/play-localized.ts';

describe('a localized release that does not follow', () => {
  it.each([
    ['stopped', [], 'told'],
    ['off', [], 'told'],
    ['waiting', ['untranslated'], 'told'],
    ['waiting', ['tasks_not_built'], null],
    ['due', [], null],
    ['followed', [], null],
  ] as const)('ends the wait with the reason of the automation: %s, %j', (state, blockers, lack) => {
    expect(lackOfAutomation({ state, message: 'told' }, blockers)).toBe(lack);
  });
});
