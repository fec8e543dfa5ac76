import { empty } from './elements.js';
import { ReportViewer } from './report-viewer.js';
import { h } from './preact.js';
import { group } from './control-view.js';

/** @import { View } from './view.js' */

/** @type {View} */
export const translationView = {
  id: 'translation',
  title: 'Translation',
  feeds: () => [],
  render: (app) => {
    const reports = app.contract.reports.filter(({ report }) => /^(?:parse|translation)\./.test(report));
    const index = app.index();
    const actions = (index?.actions ?? []).filter(({ action }) => /^(?:translation|localized)-/.test(action));
    return [
      h(ReportViewer, { app, reports, key: 'reports' }),
      index === null || app.canControl()
        ? group(app, 'Actions', actions)
        : empty('This server does not forward control actions, so these reports are read-only.'),
    ];
  },
};
