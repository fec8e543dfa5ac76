import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PARSE_ERROR_CODES } from '../../src/contract/reports/parse-error-codes.ts';
import { brokenRows, missingTitles, titledRows } from '../support/titled-rows.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const FOLDER = 'docs/development/what-is-tested';
/** The pages with rows; the README lists them. */
const PAGES = globSync(`${FOLDER}/*.md`, { cwd: ROOT })
  .filter((page) => !page.endsWith('/README.md'))
  .toSorted();
const ROWS = PAGES.flatMap(titledRows);

describe('the pages that say what is tested', () => {
  it('are all in the index', () => {
    const index = readFileSync(join(ROOT, FOLDER, 'README.md'), 'utf8');
    const named = [...index.matchAll(/^\| \[[^\]]+\]\(([^)]+)\)/gm)].map(([, page]) => `${FOLDER}/${page}`);
    expect(named.toSorted()).toEqual(PAGES);
  });

  it('have a row for every topic', () => {
    const sections = PAGES.flatMap((page) =>
      readFileSync(join(ROOT, page), 'utf8')
        .split(/^## /m)
        .slice(1)
        .map((section) => ({ page, section })),
    );
    expect(sections.length).toBeGreaterThan(10);
    expect(sections.filter(({ section }) => !section.includes('.test.ts`'))).toEqual([]);
  });

  it('have no row twice', () => {
    const rows = PAGES.flatMap((page) =>
      readFileSync(join(ROOT, page), 'utf8')
        .split('\n')
        .filter((line) => line.includes('.test.ts`'))
        .map((line) => line.replaceAll(/\s+/g, ' ')),
    );
    expect(rows.filter((row, at) => rows.indexOf(row) !== at)).toEqual([]);
  });

  it('name only files that exist, with at least one title each', () => {
    expect(ROWS.length).toBeGreaterThan(50);
    expect(brokenRows(ROWS)).toEqual([]);
  });

  it('quote only titles that occur in their file', () => {
    expect(missingTitles(ROWS)).toEqual([]);
  });

  it('leave out no file of the integration, cluster and e2e tiers', () => {
    const named = new Set(ROWS.map(({ file }) => file));
    const files = globSync('{integration,cluster,e2e}/**/*.test.ts', { cwd: join(ROOT, 'test') });
    expect(files.filter((file) => !named.has(file))).toEqual([]);
  });

  it('have a row for every error code of the parser', () => {
    const names = ROWS.map(({ name }) => name);
    const missing = Object.keys(PARSE_ERROR_CODES).filter(
      (code) => !names.some((name) => name.startsWith(`\`${code}\`, `)),
    );
    expect(missing).toEqual([]);
  });
});
