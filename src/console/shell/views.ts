/** Every page, in the order of the menu. Add a row here for a new one. */

import type { Route } from '../state/app.ts';
import type { View } from '../state/view.ts';

export const SECTIONS = [
  { id: 'operate', title: 'Operate' },
  { id: 'releases', title: 'Releases' },
  { id: 'translate', title: 'Translate' },
  { id: 'settings', title: 'Settings' },
] as const;

export type SectionId = (typeof SECTIONS)[number]['id'];

export interface ViewEntry {
  readonly id: string;
  readonly title: string;
  readonly section: SectionId;
  /** Reached from another page; no tab of the section leads to it. */
  readonly isInner?: boolean;
  readonly load: () => Promise<View>;
}

function page(
  id: string,
  title: string,
  section: SectionId,
  load: ViewEntry['load'],
  options: Partial<ViewEntry> = {},
): ViewEntry {
  return { id, title, section, load, ...options };
}

const INNER = { isInner: true };

const OVERVIEW = page(
  'overview',
  'Overview',
  'operate',
  async () => (await import('../operate/overview-view.tsx')).overviewView,
);

/** Its title says all, so it needs no file of its own. */
const NO_SUCH_PAGE = page(
  'no-such-page',
  'There is no such page',
  'operate',
  async () => await Promise.resolve({ feeds: () => [], Body: () => null }),
  INNER,
);

// The pages of a section are one script: it is smaller than a script for each, whose common parts would be scripts again.
const operateViews = async () => await import('../operate/operate-views.ts');
const releasesViews = async () => await import('../releases/releases-views.ts');
const translateViews = async () => await import('../translate/translate-views.ts');

export const VIEWS: readonly ViewEntry[] = [
  OVERVIEW,
  page('tasks', 'Tasks', 'operate', async () => (await operateViews()).tasksView),
  page('schedules', 'Schedules', 'operate', async () => (await operateViews()).schedulesView),
  page('diagnostics', 'Diagnostics', 'operate', async () => (await operateViews()).diagnosticsView),
  page('releases', 'Releases', 'releases', async () => (await releasesViews()).releasesView),
  page('compare', 'Compare releases', 'releases', async () => (await releasesViews()).compareView, INNER),
  page('translate', 'Queue', 'translate', async () => (await translateViews()).queueView),
  page(
    'translate-task',
    'Translate a task',
    'translate',
    async () => (await translateViews()).editorView,
    INNER,
  ),
  page('review', 'Review', 'translate', async () => (await translateViews()).reviewView),
  page('search', 'Search', 'translate', async () => (await translateViews()).searchView),
  page('glossary', 'Glossary', 'translate', async () => (await translateViews()).glossaryView),
  page('memory', 'Memory', 'translate', async () => (await translateViews()).memoryView),
  page('machine', 'Machine translation', 'translate', async () => (await translateViews()).machineView),
  page('publish', 'Publish', 'translate', async () => (await translateViews()).publishView),
  page(
    'settings',
    'Settings',
    'settings',
    async () => (await import('../settings/settings-views.tsx')).settingsView,
  ),
  page(
    'actions',
    'All actions',
    'settings',
    async () => (await import('../settings/settings-views.tsx')).actionsView,
  ),
  page(
    'reports',
    'Reports',
    'settings',
    async () => (await import('../settings/settings-views.tsx')).reportsView,
  ),
];

/** The page of a route: the overview if the address names none, and one that says so if it names an unknown one. */
export function viewOf({ view }: Route): ViewEntry {
  return view === '' ? OVERVIEW : (VIEWS.find(({ id }) => id === view) ?? NO_SUCH_PAGE);
}

/** The pages that the tabs of a section lead to. The first one opens with the section. */
export function tabsOf(section: SectionId): readonly ViewEntry[] {
  return VIEWS.filter((entry) => entry.section === section && entry.isInner !== true);
}
