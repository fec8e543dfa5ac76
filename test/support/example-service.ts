import { exampleOf } from '../../scripts/reference/examples.ts';
import { CONTROL_ACTIONS } from '../../src/contract/actions/actions.ts';
import { REPORTS, type ReportName } from '../../src/contract/reports/reports.ts';
import { AcceptedAnswer } from '../../src/contract/schemas/answers/admin.ts';
import { startAdminServer, type AdminServer } from './admin-client.ts';
import { endedTask } from './ctl-service.ts';

/** A server whose daemon answers each report with its example, and accepts each action, whose task has then succeeded. */
export async function startExampleService(
  options: Parameters<typeof startAdminServer>[0],
): Promise<AdminServer> {
  const server = await startAdminServer(options);
  for (const name of Object.keys(REPORTS) as ReportName[]) {
    server.daemon.setReport(name, exampleOf(REPORTS[name].answer));
  }
  server.daemon.setReport('task.status', endedTask('succeeded'));
  for (const action of CONTROL_ACTIONS) {
    const body = { ...exampleOf(AcceptedAnswer), action };
    server.daemon.setAnswer(`/v1/control/${action}`, { status: 202, body });
  }
  return server;
}
