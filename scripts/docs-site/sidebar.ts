import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { ROOT, placeOf } from './pages.ts';

/** An entry of the sidebar: a page, or a group of them. */
interface SidebarItem {
  readonly text: string;
  readonly link?: string;
  readonly collapsed?: boolean;
  readonly items?: readonly SidebarItem[];
}

const INDEX = 'docs/README.md';
const LINK = /\]\(([^)#\s]+\.md)(?:#[^)]*)?\)/g;

/**
 * The sidebar: the headings of docs/README.md, with the rows of their tables as groups and the pages in the order in which it links
 * to them. Pages of its folders that it does not name follow: runbooks, decisions.
 */
export function buildSidebar(): readonly SidebarItem[] {
  const [, ...parts] = readFileSync(join(ROOT, INDEX), 'utf8').split(/^## /m);
  const seen = new Set<string>([INDEX]);
  const sections = parts.map((part) => sectionOf(part, seen));
  const folders = {
    'docs/runbooks': 'Runbooks',
    'docs/adr': 'Decisions',
    'docs/development': 'More',
    src: 'Modules',
  };
  for (const [folder, text] of Object.entries(folders)) {
    const pages = globSync('**/*.md', { cwd: join(ROOT, folder) })
      .map((file) => posix.join(folder, file.replaceAll('\\', '/')))
      .filter((file) => !seen.has(file) || file === `${folder}/README.md`)
      .toSorted(
        (a, b) =>
          Number(b.endsWith(`${folder}/README.md`)) - Number(a.endsWith(`${folder}/README.md`)) ||
          (a < b ? -1 : 1),
      );
    if (pages.length > 0) sections.push({ text, collapsed: true, items: pages.map(itemOf) });
  }
  return [{ text: 'Start', items: ['README.md', INDEX].map(itemOf) }, ...sections];
}

function sectionOf(part: string, seen: Set<string>): SidebarItem {
  const [heading = '', ...lines] = part.split('\n');
  const groups = lines.flatMap((line): readonly SidebarItem[] => {
    const pages = pagesOf(line, seen);
    const [, label] = /^\| ([^|]*?) +\|/.exec(line) ?? [];
    if (label === undefined || pages.length < 2) return pages.map(itemOf);
    return [{ text: capital(label), collapsed: true, items: pages.map(itemOf) }];
  });
  return { text: heading.split(':')[0] ?? heading, collapsed: false, items: groups };
}

/** The pages of docs that a line links to, each only where it is named first. */
function pagesOf(line: string, seen: Set<string>): readonly string[] {
  const pages = [...line.matchAll(LINK)]
    .map(([, path = '']) => posix.normalize(posix.join('docs', path)))
    .filter((file) => !seen.has(file));
  for (const page of pages) seen.add(page);
  return [...new Set(pages)];
}

function itemOf(file: string): SidebarItem {
  return { text: titleOf(file), link: `/${placeOf(file)}` };
}

/** The first heading of a page, without the marks of code. */
function titleOf(file: string): string {
  const [, title] = /^# (.+)$/m.exec(readFileSync(join(ROOT, file), 'utf8')) ?? [];
  if (title === undefined) throw new Error(`${file} has no heading.`);
  return title.replaceAll('`', '');
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
