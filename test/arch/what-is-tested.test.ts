import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PARSE_ERROR_CODES } from '../../src/contract/reports/parse-error-codes.ts';
import { brokenRows, missingTitles, titledRows } from '../support/titled-rows.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const PAGE = 'docs/guides/what-is-tested.md';

describe('the page that says what is tested', () => {
  it('has a row for every topic', () => {
    const sections = readFileSync(join(ROOT, PAGE), 'utf8').split(/^## /m).slice(1);
    expect(sections.length).toBeGreaterThan(10);
    expect(sections.filter((section) => !section.includes('.test.ts`'))).toEqual([]);
  });

  it('names only files that exist, with at least one title each', () => {
    expect(titledRows(PAGE).length).toBeGreaterThan(50);
    expect(brokenRows(titledRows(PAGE))).toEqual([]);
  });

  it('quotes only titles that occur in their file', () => {
    expect(missingTitles(titledRows(PAGE))).toEqual([]);
  });

  it('leaves out no file of the integration, cluster and e2e tiers', () => {
    const named = new Set(titledRows(PAGE).map(({ file }) => file));
    const files = globSync('{integration,cluster,e2e}/**/*.test.ts', { cwd: join(ROOT, 'test') });
    expect(files.filter((file) => !named.has(file))).toEqual([]);
  });

  it('has a row for every error code of the parser', () => {
    const names = titledRows(PAGE).map(({ name }) => name);
    const missing = Object.keys(PARSE_ERROR_CODES).filter(
      (code) => !names.some((name) => name.startsWith(`\`${code}\`, `)),
    );
    expect(missing).toEqual([]);
  });
});
