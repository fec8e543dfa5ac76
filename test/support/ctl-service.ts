import { exampleOf } from '../../scripts/reference/examples.ts';
import { REPORTS, type ReportName } from '../../src/contract/reports/reports.ts';
import { startAdminServer, type AdminServer } from './admin-client.ts';
import { ctl, type CtlRun, type CtlRunOptions } from './ctl.ts';

/** A service whose daemon answers as the test says, and a function that runs commands against it. */
export async function ctlService(): Promise<
  AdminServer & { readonly run: (argv: readonly string[], options?: CtlRunOptions) => Promise<CtlRun> }
> {
  const server = await startAdminServer({ daemonTimeoutMs: 10_000 });
  return {
    ...server,
    run: async (argv, options) =>
      await ctl(['--url', server.url, '--token-file', server.tokenFile, ...argv], options),
  };
}

/** The example of a report, as the daemon sends it. */
export function reportExample(report: ReportName): Record<string, unknown> {
  return exampleOf(REPORTS[report].answer);
}

/** The answer to `task.status` of a task that has ended. */
export function endedTask(status: string, result: object | null = null): Record<string, unknown> {
  const report = reportExample('task.status');
  return { ...report, task: { ...(report['task'] as object), status, finished_at: 1_763_683_300, result } };
}
