import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkLinks } from '../../../scripts/docs-site/check-links.ts';
import { anchorOf } from '../../../scripts/docs-site/markdown.ts';
import { placeOf, targetOf } from '../../../scripts/docs-site/pages.ts';
import { buildSidebar } from '../../../scripts/docs-site/sidebar.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

describe('a page on the documentation site', () => {
  it.each([
    ['README.md', 'index.md'],
    ['docs/README.md', 'all-pages.md'],
    ['docs/how-to/edges.md', 'how-to/edges.md'],
    ['docs/runbooks/README.md', 'runbooks/index.md'],
    ['src/domain/README.md', 'src/domain/index.md'],
  ])('%s is at %s', (file, place) => {
    expect(placeOf(file)).toBe(place);
  });

  it('leads where its links lead on GitHub', () => {
    const page = 'docs/how-to/edges.md';
    expect(targetOf(page, 'caches.md#nginx')).toBe('/how-to/caches.md#nginx');
    expect(targetOf(page, '../../SECURITY.md')).toBe('/SECURITY.md');
    expect(targetOf(page, '../reference')).toBe(null);
    expect(targetOf(page, '../runbooks/')).toBe('/runbooks/index.md');
    expect(targetOf(page, '../reference/openapi.yaml')).toBe('/reference/api.md');
    expect(targetOf(page, '../reference/schemas/accepted.json')).toBe('/reference/schemas/accepted.json');
    expect(targetOf(page, '../../src/server/app.ts')).toBe(null);
    expect(() => targetOf(page, 'gone.md')).toThrow(
      'docs/how-to/edges.md links to gone.md, which does not exist.',
    );
  });

  it('has the anchors of GitHub', () => {
    expect(anchorOf('What `status` says: yes, "no"')).toBe('what-status-says-yes-no');
  });
});

it('each page of the documentation is in the sidebar once', () => {
  const linksOf = (items: ReturnType<typeof buildSidebar>): readonly string[] =>
    items.flatMap(({ link, items: below = [] }) => [
      ...(link === undefined ? [] : [link]),
      ...linksOf(below),
    ]);
  const links = linksOf(buildSidebar()).filter((link) => !link.endsWith('/index.md'));
  expect(links.length).toBeGreaterThan(150);
  expect(links.filter((link, index) => links.indexOf(link) !== index)).toEqual([]);
});

it('a link of a built page to a page or heading that does not exist is named', async () => {
  const folder = await temporaryDirectory();
  await mkdir(join(folder, 'guides'));
  await writeFile(
    join(folder, 'index.html'),
    `<h1 id="top">Home</h1><a class="link" href="/base/guides/first.html#step">1</a> <a href="./guides/first.html#gone">2</a>
     <a href="/base/guides/">3</a> <a href="https://example.org/x">4</a> <a href="#top">5</a> <img alt="" src="/base/gone.png">`,
  );
  await writeFile(
    join(folder, 'guides/first.html'),
    '<h2 id="step">Step</h2><a href="../index.html#top">home</a>',
  );
  expect(await checkLinks(folder, '/base/')).toEqual({
    pages: 2,
    faults: [
      'index.html: ./guides/first.html#gone has no such heading',
      'index.html: /base/guides/ does not exist',
      'index.html: /base/gone.png does not exist',
    ],
  });
});
