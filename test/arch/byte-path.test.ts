import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { brokenRows, missingTitles, titledRows } from '../support/titled-rows.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const PAGE = 'docs/reference/byte-path.md';
const HTTP_TESTS = ['http', 'ranges', 'conditions'].map(
  (subject) => `integration/byte-path-${subject}.test.ts`,
);
const HTTP_RULES = 29;

describe('the page of the byte path', () => {
  it('has a row for every rule of HTTP, in order', () => {
    const names = new Set(titledRows(PAGE).map(({ name }) => name));
    const rules = [...names].filter((name) => name.startsWith('R'));
    expect(rules).toEqual(Array.from({ length: HTTP_RULES }, (_none, i) => `R${i + 1}`));
  });

  it('names only tests that exist', () => {
    const rows = titledRows(PAGE);
    expect(rows.length).toBeGreaterThan(HTTP_RULES);
    expect(brokenRows(rows)).toEqual([]);
    expect(missingTitles(rows)).toEqual([]);
  });

  it('names every test of a rule in the row of that rule', () => {
    const rows = titledRows(PAGE).filter(({ file }) => HTTP_TESTS.includes(file));
    const named = rows.flatMap(({ name, titles }) => titles.map((title) => `${name} ${title}`));
    const text = HTTP_TESTS.map((file) => readFileSync(join(ROOT, 'test', file), 'utf8')).join('\n');
    const titles = [...text.matchAll(/'((R[0-9]+): [^']+)'/g)].map(([, title, rule]) => `${rule} ${title}`);
    expect(titles.length).toBeGreaterThanOrEqual(HTTP_RULES);
    expect(named.toSorted()).toEqual(titles.toSorted());
  });
});
