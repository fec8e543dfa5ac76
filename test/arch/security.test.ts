import { expect, it } from 'vitest';
import { brokenRows, missingTitles, titledRows } from '../support/titled-rows.ts';

const rows = titledRows('SECURITY.md');

it('every threat in SECURITY.md names tests that exist', () => {
  expect(rows.length).toBeGreaterThan(15);
  expect(brokenRows(rows)).toEqual([]);
  expect(missingTitles(rows)).toEqual([]);
});
