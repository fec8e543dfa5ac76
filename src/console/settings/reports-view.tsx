import type { JSX } from 'preact';
import { useApp } from '../state/app.ts';
import type { View } from '../state/view.ts';
import { ReportViewer } from './report-viewer.tsx';

/** Every report of the server, as it is. */
export const reportsView: View = { feeds: () => [], Body: Reports };

function Reports(): JSX.Element {
  const app = useApp();
  return <ReportViewer app={app} reports={app.contract.reports} />;
}
