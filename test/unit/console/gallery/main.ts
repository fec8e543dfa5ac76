/** The console with one more page, which shows every component in every state. Tests bundle it; no server serves it. */

import { VIEWS, type ViewEntry } from '../../../../src/console/shell/views.ts';

(VIEWS as ViewEntry[]).push({
  id: 'components',
  title: 'Components',
  section: 'settings',
  isInner: true,
  load: async () => (await import('./components-view.tsx')).componentsView,
});
await import('../../../../src/console/main.ts');
