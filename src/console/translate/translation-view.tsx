import type { JSX } from 'preact';
import { ActionCards } from '../actions/action-cards.tsx';
import { Empty } from '../components/text.tsx';
import { useApp } from '../state/app.ts';
import type { View } from '../state/view.ts';
import { ReportViewer } from './report-viewer.tsx';

/** The reports and the actions of parsing and translation. */
export const translationView: View = { feeds: () => [], Body: Translation };

function Translation(): JSX.Element {
  const app = useApp();
  const index = app.index();
  const reports = app.contract.reports.filter(({ report }) => /^(?:parse|translation)\./.test(report));
  const actions = (index?.actions ?? []).filter(({ action }) => /^(?:translation|localized)-/.test(action));
  return (
    <>
      <ReportViewer app={app} reports={reports} />
      {index === null || app.canControl() ? (
        <ActionCards title="Actions" actions={actions} />
      ) : (
        <Empty>This server does not forward control actions, so these reports are read-only.</Empty>
      )}
    </>
  );
}
