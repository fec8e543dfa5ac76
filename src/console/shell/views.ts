/** Every view, in the order of the menu. Add a row here for a new one. */

import { controlView } from './control-view.js';
import { diagnosticsView } from './diagnostics-view.js';
import { overviewView } from './overview-view.js';
import { releasesView } from './releases-view.js';
import { schedulesView } from './schedules-view.js';
import { tasksView } from './tasks-view.js';
import { translationView } from './translation-view.js';

/** @import { Route } from './app.js' */
/** @import { View } from './view.js' */

/** @type {readonly View[]} */
export const VIEWS = [
  overviewView,
  releasesView,
  tasksView,
  schedulesView,
  diagnosticsView,
  translationView,
  controlView,
];

/**
 * @param {Route} route
 * @returns {View} the overview if the address names no view
 */
export function viewOf({ view }) {
  return VIEWS.find(({ id }) => id === view) ?? overviewView;
}
