/** Every page, in the order of the menu. Add a row here for a new one. */

import type { Route } from '../state/app.ts';
import type { View } from '../state/view.ts';

/** A page in the menu, and how its file is loaded. */
export interface ViewEntry {
  /** The first segment of its address. */
  readonly id: string;
  readonly title: string;
  readonly load: () => Promise<View>;
}

const OVERVIEW: ViewEntry = {
  id: 'overview',
  title: 'Overview',
  load: async () => (await import('../operate/overview-view.tsx')).overviewView,
};

export const VIEWS: readonly ViewEntry[] = [
  OVERVIEW,
  {
    id: 'releases',
    title: 'Releases',
    load: async () => (await import('../releases/releases-view.tsx')).releasesView,
  },
  { id: 'tasks', title: 'Tasks', load: async () => (await import('../operate/tasks-view.tsx')).tasksView },
  {
    id: 'schedules',
    title: 'Schedules',
    load: async () => (await import('../operate/schedules-view.tsx')).schedulesView,
  },
  {
    id: 'diagnostics',
    title: 'Diagnostics',
    load: async () => (await import('../operate/diagnostics-view.tsx')).diagnosticsView,
  },
  {
    id: 'translation',
    title: 'Translation',
    load: async () => (await import('../translate/translation-view.tsx')).translationView,
  },
  {
    id: 'control',
    title: 'Control',
    load: async () => (await import('../operate/control-view.tsx')).controlView,
  },
];

/** The page of a route; the overview if the address names none. */
export function viewOf({ view }: Route): ViewEntry {
  return VIEWS.find(({ id }) => id === view) ?? OVERVIEW;
}
