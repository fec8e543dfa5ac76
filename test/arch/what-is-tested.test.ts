import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
const PAGE = 'docs/guides/what-is-tested.md';

interface Row {
  readonly file: string;
  readonly titles: readonly string[];
}

/** The rows of every table of the page: rule, file, titles in backticks. */
function rows(): Row[] {
  return readFileSync(join(ROOT, PAGE), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| ') && line.includes('.test.ts`'))
    .map((line) => {
      const [, , file = '', titles = ''] = line.split(/(?<!\\)\|/);
      return {
        file: /`([^`]+\.test\.ts)`/.exec(file)?.[1] ?? '',
        titles: [...titles.matchAll(/`([^`]+)`/g)].map(([, title = '']) => title.replaceAll('\\|', '|')),
      };
    });
}

/** Whether a file has a test or a group of exactly this title. */
function hasTitle(text: string, title: string): boolean {
  return [`'${title}'`, `"${title}"`, `\`${title}\``].some((quoted) => text.includes(quoted));
}

describe('the page that says what is tested', () => {
  it('has a row for every topic', () => {
    const sections = readFileSync(join(ROOT, PAGE), 'utf8').split(/^## /m).slice(1);
    expect(sections.length).toBeGreaterThan(10);
    expect(sections.filter((section) => !section.includes('.test.ts`'))).toEqual([]);
  });

  it('names only files that exist, with at least one title each', () => {
    const wrong = rows().filter(
      ({ file, titles }) => file === '' || titles.length === 0 || !existsSync(join(ROOT, 'test', file)),
    );
    expect(wrong).toEqual([]);
  });

  it('quotes only titles that occur in their file', () => {
    const missing = rows().flatMap(({ file, titles }) => {
      const path = join(ROOT, 'test', file);
      const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
      return titles.filter((title) => !hasTitle(text, title)).map((title) => `${file}: ${title}`);
    });
    expect(missing).toEqual([]);
  });

  it('leaves out no file of the integration tier', () => {
    const named = new Set(rows().map(({ file }) => file));
    const files = globSync('integration/*.test.ts', { cwd: join(ROOT, 'test') });
    expect(files.filter((file) => !named.has(file))).toEqual([]);
  });
});
