import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, posix } from 'node:path';

/**
 * Follows every link of a built site.
 *
 * @param folder the site
 * @param base the path below which it is served
 * @returns the number of pages, and each link without a target
 */
export async function checkLinks(
  folder: string,
  base: string,
): Promise<{ readonly pages: number; readonly faults: readonly string[] }> {
  const files = new Set(globSync('**/*.*', { cwd: folder }).map((file) => file.replaceAll('\\', '/')));
  const pages = [...files].filter((file) => file.endsWith('.html'));
  const texts = new Map<string, string>();
  for (const page of pages) texts.set(page, await readFile(join(folder, page), 'utf8'));
  const faults: string[] = [];
  for (const [page, text] of texts) {
    for (const [, link = ''] of text.matchAll(/<(?:a|img)\b[^>]*? (?:href|src)="([^"]*)"/g)) {
      if (/^(?:[a-z]+:|\/\/)/i.test(link)) continue;
      const fault = faultOf(link, page);
      if (fault !== null) faults.push(`${page}: ${link} ${fault}`);
    }
  }
  return { pages: pages.length, faults };

  function faultOf(link: string, page: string): string | null {
    const [path = '', anchor = ''] = decodeURI(link.replaceAll('&amp;', '&')).split('#');
    const absolute = path.startsWith(base) ? path.slice(base.length) : posix.join(posix.dirname(page), path);
    const target =
      path === ''
        ? page
        : [absolute, `${absolute}.html`, posix.join(absolute, 'index.html')].find((file) =>
            files.has(posix.normalize(file)),
          );
    if (target === undefined) return 'does not exist';
    const html = texts.get(posix.normalize(target));
    return anchor === '' || html === undefined || html.includes(` id="${anchor}"`)
      ? null
      : 'has no such heading';
  }
}
