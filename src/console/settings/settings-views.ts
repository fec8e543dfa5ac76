/** The views of the settings in one file: they are small, and a file of its own costs each more than it holds. */

export { settingsView } from './settings-view.tsx';
export { actionsView } from './actions-view.tsx';
export { reportsView } from './reports-view.tsx';
