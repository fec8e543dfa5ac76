/** The pages of the section, which are loaded together. */

export { diagnosticsView } from './diagnostics-view.tsx';
export { schedulesView } from './schedules-view.tsx';
export { tasksView } from './tasks-view.tsx';
