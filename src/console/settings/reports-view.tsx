import type { JSX } from 'preact';
import { Empty } from '../components/text.tsx';
import { useApp, useWholeContract } from '../state/app.ts';
import type { View } from '../state/view.ts';
import { ReportViewer } from './report-viewer.tsx';

/** Every report of the server, as it is. */
export const reportsView: View = { feeds: () => [], Body: Reports };

function Reports(): JSX.Element {
  const app = useApp();
  const contract = useWholeContract();
  if (contract === null) return <Empty>Loading …</Empty>;
  return <ReportViewer app={app} reports={contract.reports} />;
}
