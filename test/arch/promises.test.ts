import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PARSE_ERROR_CODES } from '../../src/contract/reports/parse-error-codes.ts';
import { brokenRows, missingTitles, titledRows } from '../support/titled-rows.ts';

const ROWS = titledRows('docs/development/promises.md');

describe('the page of the promises', () => {
  it('names only tests that exist', () => {
    expect(ROWS.length).toBeGreaterThan(15);
    expect(brokenRows(ROWS)).toEqual([]);
    expect(missingTitles(ROWS)).toEqual([]);
  });
});

it('every error code of the parser is in a test', () => {
  const tests = globSync('test/{unit,integration}/**/*.test.ts', {
    cwd: resolve(import.meta.dirname, '../..'),
  });
  const text = tests.map((path) => readFileSync(path, 'utf8')).join('');
  expect(Object.keys(PARSE_ERROR_CODES).filter((code) => !text.includes(code))).toEqual([]);
});
