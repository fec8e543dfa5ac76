import type { z } from 'zod';
import { HealthRead, type ReadHealth } from '../../contract/schemas/answers/health.ts';
import { ReadinessAnswer } from '../../contract/schemas/answers/verdict.ts';
import { ReleaseStatusRead } from '../../contract/reports/report-releases.ts';
import { ScheduleListRead } from '../../contract/reports/report-schedules.ts';
import { isReportName, REPORTS } from '../../contract/reports/reports.ts';
import { unixSeconds } from '../../platform/process/clock.ts';
import { indentJson, type AdminAnswer } from './admin-api.ts';
import type { CtlCommand, CtlContext } from './ctl-context.ts';
import { CTL_EXITS, CtlFailure } from './ctl-exits.ts';
import { numberOption, textOption } from './ctl-options.ts';
import { printAnswer, printRaw } from './print-answer.ts';
import { REPORT_PATHS, reportPath } from './report-path.ts';
import { given, show } from './show-report.ts';
import {
  renderDoctor,
  renderReleases,
  renderSchedules,
  renderTask,
  renderTasks,
  type TaskView,
} from './report-views.ts';
import { renderStatus } from './status-view.ts';

/** Maximum number of tasks that task.list returns. */
const MAX_TASKS = 500;

/** Kinds of the tasks that write damaged files again. */
const REPAIRS: ReadonlySet<string> = new Set(['repair', 'damage-repair']);

/** The commands that only read, except `logs`. */
export const READ_COMMANDS: readonly CtlCommand[] = [
  {
    name: 'status',
    synopsis: '',
    summary:
      'shows the state of the service, its cause and the next step, and the state of the current releases',
    words: [0, 0],
    options: [],
    optionTexts: [],
    run: async (context) => {
      const readiness = await context.api.get('/readyz', { verbose: 'true' }, [503]);
      const releases = await whileAvailable(async () => await context.api.get(reportPath('release.status')));
      const now = unixSeconds(context.clock);
      const parsed = ReadinessAnswer.schema.safeParse(readiness.value);
      if (!parsed.success) {
        throw new CtlFailure(CTL_EXITS.unreachable, '/readyz answered, but the answer is not from Slipway');
      }
      const health = await healthOf(context);
      if (context.json) printRaw(context, joinStatus(readiness, health, releases));
      else {
        const report = ReleaseStatusRead.safeParse(releases?.value);
        const status = report.success ? report.data : null;
        const repairs = await repairsOf(context, status);
        const answers = { readiness: parsed.data, health, releases: status, repairs };
        context.stdout.write(renderStatus(answers, now));
      }
      return parsed.data.distributable ? CTL_EXITS.ok : CTL_EXITS.failed;
    },
  },
  {
    name: 'releases',
    synopsis: '[--channel official|localized]',
    summary: 'lists past and present releases',
    words: [0, 0],
    options: ['channel'],
    optionTexts: [['--channel NAME', 'shows only this channel']],
    run: async (context) => {
      await show(
        context,
        'release.list',
        given({ channel: textOption(context.args, 'channel') }),
        renderReleases,
      );
      return CTL_EXITS.ok;
    },
  },
  {
    name: 'tasks',
    synopsis: '[--status NAME] [--limit N]',
    summary: 'lists tasks, newest first',
    words: [0, 0],
    options: ['status', 'limit'],
    optionTexts: [
      ['--status NAME', 'shows only tasks with this status; not with -o json, which prints the whole report'],
      ['--limit N', 'number of tasks; 1 to 500, default 30; not with -o json'],
    ],
    run: async (context) => {
      const { args, json } = context;
      const status = textOption(args, 'status');
      if (json && (status !== undefined || args.values.limit !== undefined)) {
        throw new CtlFailure(
          CTL_EXITS.usage,
          '-o json prints the whole report: leave --status and --limit out',
        );
      }
      const limit = numberOption(args, 'limit', { min: 1, max: MAX_TASKS, fallback: 30 });
      await show(context, 'task.list', {}, ({ items }, now) =>
        renderTasks(
          items.filter((task) => status === undefined || task.status === status).slice(0, limit),
          now,
        ),
      );
      return CTL_EXITS.ok;
    },
  },
  {
    name: 'task show',
    synopsis: 'ID',
    summary: 'shows one task',
    words: [1, 1],
    options: [],
    optionTexts: [],
    run: async (context) => {
      const [taskId = ''] = context.words;
      await show(context, 'task.status', { task_id: taskId }, ({ task }, now) => renderTask(task, now));
      return CTL_EXITS.ok;
    },
  },
  {
    name: 'schedules',
    synopsis: '[--group res|parse|i18n]',
    summary: 'lists schedules with their next run and the result of the last one',
    words: [0, 0],
    options: ['group'],
    optionTexts: [['--group NAME', 'shows only schedules of this group']],
    run: async (context) => {
      const query = given({ group: textOption(context.args, 'group') });
      const answer = await context.api.get(reportPath('schedule.list'), query);
      const now = unixSeconds(context.clock);
      printAnswer(context, answer, ScheduleListRead, (report) => renderSchedules(report, now));
      return CTL_EXITS.ok;
    },
  },
  {
    name: 'doctor',
    synopsis: '',
    summary: 'shows the self-checks of the daemon, worst first',
    words: [0, 0],
    options: [],
    optionTexts: [],
    run: async (context) => {
      const report = await show(context, 'daemon.doctor', {}, renderDoctor);
      return report?.status === 'failing' ? CTL_EXITS.failed : CTL_EXITS.ok;
    },
  },
  {
    name: 'report',
    synopsis: 'NAME [parameter=value ...]',
    summary: 'prints any report of the daemon as JSON',
    words: [1, Infinity],
    options: [],
    optionTexts: [],
    run: async (context) => {
      const [name = '', ...words] = context.words;
      if (!isReportName(name)) {
        const names = [...REPORT_PATHS.keys()].join('\n  ');
        throw new CtlFailure(CTL_EXITS.usage, `there is no report "${name}"; the reports are:\n  ${names}`);
      }
      const answer = await context.api.get(reportPath(name), parametersOf(words));
      if (context.json) printRaw(context, answer.body);
      else context.stdout.write(`${indentJson(answer)}\n`);
      return CTL_EXITS.ok;
    },
  },
];

async function healthOf({ api }: CtlContext): Promise<ReadHealth | null> {
  const health = HealthRead.safeParse((await api.get('/healthz')).value);
  return health.success ? health.data : null;
}

/** The active tasks that repair, if the current releases are damaged. */
async function repairsOf(
  { api }: CtlContext,
  releases: z.output<typeof ReleaseStatusRead> | null,
): Promise<readonly TaskView[] | null> {
  const isDamaged = [releases?.official, releases?.localized].some(
    (current) => (current?.damaged_count ?? 0) > 0,
  );
  if (!isDamaged) return null;
  const answer = await whileAvailable(async () => await api.get(reportPath('task.list')));
  const report = REPORTS['task.list'].answer.schema.safeParse(answer?.value);
  if (!report.success) return null;
  return report.data.items.filter(
    ({ kind, status }) => REPAIRS.has(kind) && ['queued', 'running', 'cancelling'].includes(status),
  );
}

/** @returns `null` while the daemon is unavailable */
async function whileAvailable(read: () => Promise<AdminAnswer>): Promise<AdminAnswer | null> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof CtlFailure && error.exit === CTL_EXITS.unavailable) return null;
    throw error;
  }
}

/** Joins the answers into one JSON text; readiness and report keep their bytes. */
function joinStatus(readiness: AdminAnswer, health: ReadHealth | null, releases: AdminAnswer | null): Buffer {
  return Buffer.concat([
    Buffer.from('{"readiness":'),
    readiness.body,
    Buffer.from(`,"service":${JSON.stringify(health?.service ?? null)}`),
    Buffer.from(',"release_status":'),
    releases?.body ?? Buffer.from('null'),
    Buffer.from('}'),
  ]);
}

function parametersOf(words: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    words.map((word) => {
      const at = word.indexOf('=');
      if (at <= 0) throw new CtlFailure(CTL_EXITS.usage, `"${word}" is not of the form parameter=value`);
      return [word.slice(0, at), word.slice(at + 1)];
    }),
  );
}
