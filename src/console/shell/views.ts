/** Every page, in the order of the menu. Add a row here for a new one. */

import type { Route } from '../state/app.ts';
import type { View } from '../state/view.ts';

/** The sections of the console, in the order of the rail. */
export const SECTIONS = [
  { id: 'operate', title: 'Operate' },
  { id: 'releases', title: 'Releases' },
  { id: 'translate', title: 'Translate' },
  { id: 'settings', title: 'Settings' },
] as const;

/** The name of a section. */
export type SectionId = (typeof SECTIONS)[number]['id'];

/** A page, and how its file is loaded. */
export interface ViewEntry {
  /** The first segment of its address. */
  readonly id: string;
  readonly title: string;
  readonly section: SectionId;
  /** Reached from another page; no tab of the section leads to it. */
  readonly isInner?: boolean;
  /** Its content begins with the name of its object, so the title is only for screen readers. */
  readonly hasOwnHead?: boolean;
  readonly load: () => Promise<View>;
}

const OVERVIEW: ViewEntry = {
  id: 'overview',
  title: 'Overview',
  section: 'operate',
  load: async () => (await import('../operate/overview-view.tsx')).overviewView,
};

/** Its title says all, so it needs no file of its own. */
const NO_SUCH_PAGE: ViewEntry = {
  id: 'no-such-page',
  title: 'There is no such page',
  section: 'operate',
  isInner: true,
  load: async () => await Promise.resolve({ feeds: () => [], Body: () => null }),
};

export const VIEWS: readonly ViewEntry[] = [
  OVERVIEW,
  {
    id: 'tasks',
    title: 'Tasks',
    section: 'operate',
    load: async () => (await import('../operate/tasks-view.tsx')).tasksView,
  },
  {
    id: 'schedules',
    title: 'Schedules',
    section: 'operate',
    load: async () => (await import('../operate/schedules-view.tsx')).schedulesView,
  },
  {
    id: 'diagnostics',
    title: 'Diagnostics',
    section: 'operate',
    load: async () => (await import('../operate/diagnostics-view.tsx')).diagnosticsView,
  },
  {
    id: 'releases',
    title: 'Releases',
    section: 'releases',
    load: async () => (await import('../releases/releases-view.tsx')).releasesView,
  },
  {
    id: 'compare',
    title: 'Compare releases',
    section: 'releases',
    isInner: true,
    load: async () => (await import('../releases/compare-view.tsx')).compareView,
  },
  {
    id: 'translate',
    title: 'Queue',
    section: 'translate',
    load: async () => (await import('../translate/queue-view.tsx')).queueView,
  },
  {
    id: 'translate-task',
    title: 'Translate a task',
    section: 'translate',
    isInner: true,
    hasOwnHead: true,
    load: async () => (await import('../translate/editor/editor-view.tsx')).editorView,
  },
  {
    id: 'review',
    title: 'Review',
    section: 'translate',
    load: async () => (await import('../translate/review/review-view.tsx')).reviewView,
  },
  {
    id: 'glossary',
    title: 'Glossary',
    section: 'translate',
    load: async () => (await import('../translate/glossary-view.tsx')).glossaryView,
  },
  {
    id: 'memory',
    title: 'Memory',
    section: 'translate',
    load: async () => (await import('../translate/memory-view.tsx')).memoryView,
  },
  {
    id: 'publish',
    title: 'Publish',
    section: 'translate',
    load: async () => (await import('../translate/publish/publish-view.tsx')).publishView,
  },
  {
    id: 'settings',
    title: 'Settings',
    section: 'settings',
    load: async () => (await import('../settings/settings-views.ts')).settingsView,
  },
  {
    id: 'actions',
    title: 'All actions',
    section: 'settings',
    load: async () => (await import('../settings/settings-views.ts')).actionsView,
  },
  {
    id: 'reports',
    title: 'Reports',
    section: 'settings',
    load: async () => (await import('../settings/settings-views.ts')).reportsView,
  },
  {
    id: 'components',
    title: 'Components',
    section: 'settings',
    isInner: true,
    load: async () => (await import('../settings/components-view.tsx')).componentsView,
  },
];

/** The page of a route: the overview if the address names none, and one that says so if it names an unknown one. */
export function viewOf({ view }: Pick<Route, 'view'>): ViewEntry {
  return view === '' ? OVERVIEW : (VIEWS.find(({ id }) => id === view) ?? NO_SUCH_PAGE);
}

/** The pages that the tabs of a section lead to. The first one opens with the section. */
export function tabsOf(section: SectionId): readonly ViewEntry[] {
  return VIEWS.filter((entry) => entry.section === section && entry.isInner !== true);
}
