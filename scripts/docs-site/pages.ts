import { existsSync, statSync } from 'node:fs';
import { join, posix, resolve } from 'node:path';

/** The root of the repository, with a slash between its parts. */
export const ROOT = resolve(import.meta.dirname, '../..');

/** The page that shows the OpenAPI document. */
const API_PAGE = 'scripts/docs-site/api.md';

/** The files of Markdown that are pages of the site, as patterns; everything else of the repository is left out. */
export const LEFT_OUT = [
  'node_modules/**',
  'test/**',
  'demo/**',
  'scripts/!(docs-site)/**',
  'bench-results/**',
];

/** Files that pages show or offer for download: they are part of the site as they are. */
export const STATIC_FOLDERS = ['docs/reference'];

/**
 * The place of a page on the site.
 *
 * @param file its path in the repository, such as `docs/how-to/operate.md`
 * @returns such as `how-to/operate.md`; the README of a folder is its index
 */
export function placeOf(file: string): string {
  if (file === API_PAGE) return 'reference/api.md';
  if (file === 'docs/README.md') return 'all-pages.md';
  return file.replace(/^docs\//, '').replace(/(?<=^|\/)README\.md$/, 'index.md');
}

/**
 * Where a link of a page leads on the site.
 *
 * @param file the page, as a path in the repository
 * @param link a relative link, as GitHub follows it
 * @returns an absolute path, or null if the target is in the repository only
 * @throws Error if the repository has no such file
 */
export function targetOf(file: string, link: string): string | null {
  const [path = '', anchor] = link.split('#');
  if (path === '') return link;
  const target = posix.normalize(posix.join(posix.dirname(file), decodeURI(path))).replace(/\/$/, '');
  if (!existsSync(join(ROOT, target))) throw new Error(`${file} links to ${link}, which does not exist.`);
  const suffix = anchor === undefined ? '' : `#${anchor}`;
  if (target === 'docs/reference/openapi.yaml') return `/${placeOf(API_PAGE)}${suffix}`;
  if (isPage(target)) return `/${placeOf(target)}${suffix}`;
  const readme = posix.join(target, 'README.md');
  if (statSync(join(ROOT, target)).isDirectory() && existsSync(join(ROOT, readme)))
    return `/${placeOf(readme)}`;
  const isStatic = STATIC_FOLDERS.some((folder) => target.startsWith(`${folder}/`));
  return isStatic ? `/${target.slice('docs/'.length)}` : null;
}

/** Whether a file of the repository is a page of the site. Folders with a dot are not. */
function isPage(file: string): boolean {
  return file.endsWith('.md') && !/^(?:\.|test\/|demo\/)|\/\./.test(file);
}
