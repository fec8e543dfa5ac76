import type { z } from 'zod';
import type { OPERATIONS } from '../../contract/operations/operations.ts';
import { ReleaseStatusReport } from '../../contract/reports/report-releases.ts';
import { HealthRead } from '../../contract/schemas/answers/health.ts';
import { ReadinessAnswer } from '../../contract/schemas/answers/verdict.ts';
import type { AdminAnswer } from './admin-api.ts';
import type { CtlContext, ServiceCommand } from './ctl-context.ts';
import { CTL_EXITS, CtlFailure, whileAvailable } from './ctl-exits.ts';
import { printData } from './output/print-answer.ts';
import { isDataFormat, viewOf } from './output/view.ts';
import { renderStatus } from './status-view.ts';
import type { TaskView } from './task-brief.ts';
import { WATCH_TEXTS } from './watch.ts';

// Written here, because the table of all operations needs the schemas of all reports and actions.
const RELEASE_STATUS_PATH: (typeof OPERATIONS)['getReleaseStatus']['path'] = '/admin/releases/status';
const TASKS_PATH: (typeof OPERATIONS)['listTasks']['path'] = '/admin/tasks';

/** Kinds of the tasks that write damaged files again. */
const REPAIRS: ReadonlySet<string> = new Set(['repair', 'damage-repair']);

/** The command that is used most: it loads only what it shows. */
export const STATUS_COMMAND: ServiceCommand = {
  name: 'status',
  summary:
    'shows the state of the service, its cause and the next step, and the state of the current releases',
  optionTexts: WATCH_TEXTS,
  run: async (context) => {
    const readiness = await context.api.get('/readyz', { verbose: 'true' }, [503]);
    const releases = await whileAvailable(async () => await context.api.get(RELEASE_STATUS_PATH));
    const parsed = ReadinessAnswer.schema.safeParse(readiness.value);
    if (!parsed.success) {
      throw new CtlFailure(CTL_EXITS.unreachable, '/readyz answered, but the answer is not from Slipway');
    }
    const health = await context.api.get('/healthz');
    if (isDataFormat(context.output)) await printData(context, joinStatus(readiness, health, releases));
    else {
      const report = ReleaseStatusReport.schema.safeParse(releases?.value);
      const status = report.success ? report.data : null;
      const repairs = await repairsOf(context, status);
      const read = HealthRead.safeParse(health.value);
      const answers = {
        readiness: parsed.data,
        health: read.success ? read.data : null,
        releases: status,
        repairs,
      };
      context.stdout.write(renderStatus(answers, viewOf(context)));
    }
    return parsed.data.distributable ? CTL_EXITS.ok : CTL_EXITS.failed;
  },
};

async function repairsOf(
  { api }: CtlContext,
  releases: z.output<typeof ReleaseStatusReport.schema> | null,
): Promise<readonly TaskView[] | null> {
  const isDamaged = [releases?.official, releases?.localized].some(
    (current) => (current?.damaged_count ?? 0) > 0,
  );
  if (!isDamaged) return null;
  const { TaskListReport } = await import('../../contract/reports/report-daemon.ts');
  const answer = await whileAvailable(async () => await api.get(TASKS_PATH));
  const report = TaskListReport.schema.safeParse(answer?.value);
  if (!report.success) return null;
  return report.data.items.filter(
    ({ kind, status }) => REPAIRS.has(kind) && ['queued', 'running', 'cancelling'].includes(status),
  );
}

/** Joins the answers into one JSON text; each keeps its bytes. */
function joinStatus(readiness: AdminAnswer, health: AdminAnswer, releases: AdminAnswer | null): AdminAnswer {
  const body = Buffer.concat([
    Buffer.from('{"readiness":'),
    readiness.body,
    Buffer.from(',"health":'),
    health.body,
    Buffer.from(',"release_status":'),
    releases?.body ?? Buffer.from('null'),
    Buffer.from('}'),
  ]);
  const release_status = releases?.value ?? null;
  return { body, value: { readiness: readiness.value, health: health.value, release_status } };
}
