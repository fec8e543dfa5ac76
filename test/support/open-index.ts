import { onTestFinished } from 'vitest';
import type { ParseIndex } from '../../src/localization/parse/index/parse-index.ts';
import type { Clock } from '../../src/platform/process/clock.ts';
import { openTestIndex } from './index-release.ts';

/** An index that is closed when the test ends. */
export function openIndexInTest(path?: string, clock?: Clock): ParseIndex {
  const index = openTestIndex(path, clock);
  onTestFinished(() => {
    index.close();
  });
  return index;
}
