import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');

/** One test file that a row of a page names, with the titles that the row quotes. */
export interface TitledRow {
  /** The first cell of the row. */
  readonly name: string;
  /** Relative to `test`. */
  readonly file: string;
  readonly titles: readonly string[];
}

/** The table rows of a page that name tests: `FILE` and then `TITLE`s in backticks, perhaps several times. */
export function titledRows(page: string): readonly TitledRow[] {
  return readFileSync(join(ROOT, page), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| ') && line.includes('.test.ts`'))
    .flatMap((line) => {
      const name = (line.split(/(?<!\\)\|/)[1] ?? '').trim();
      const [, ...pieces] = line.split(/\[`([^`]+\.test\.ts)`\]\([^)]*\)/);
      // A row whose file is not linked is reported as broken, not left out.
      if (pieces.length === 0) return [{ name, file: '', titles: [] }];
      return Array.from({ length: pieces.length / 2 }, (_none, i) => ({
        name,
        file: pieces[2 * i] ?? '',
        titles: [...(pieces[2 * i + 1] ?? '').matchAll(/`([^`]+)`/g)].map(([, title = '']) =>
          title.replaceAll('\\|', '|'),
        ),
      }));
    });
}

/** Rows that quote nothing, or name a file that does not exist. */
export function brokenRows(rows: readonly TitledRow[]): readonly TitledRow[] {
  return rows.filter(
    ({ file, titles }) => file === '' || titles.length === 0 || !existsSync(join(ROOT, 'test', file)),
  );
}

/** Titles that rows quote and that no test or group of their file has. */
export function missingTitles(rows: readonly TitledRow[]): readonly string[] {
  return rows.flatMap(({ file, titles }) => {
    const path = join(ROOT, 'test', file);
    const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
    return titles
      .filter(
        (title) => ![`'${title}'`, `"${title}"`, `\`${title}\``].some((quoted) => text.includes(quoted)),
      )
      .map((title) => `${file}: ${title}`);
  });
}
