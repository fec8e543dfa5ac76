import { ScheduleListReport } from '../../contract/reports/report-schedules.ts';
import { isReportName, REPORTS } from '../../contract/reports/reports.ts';
import { TASK_STATUSES } from '../../contract/schemas/vocabulary.ts';
import { didYouMean } from '../../platform/terminal/usage-error.ts';
import { indentJson } from './admin-api.ts';
import type { CtlCommand, CtlContext } from './ctl-context.ts';
import { CTL_EXITS, CtlFailure } from './ctl-exits.ts';
import { numberOption, textOption } from './ctl-options.ts';
import { isDataFormat } from './output/view.ts';
import { printAnswer, printData } from './output/print-answer.ts';
import { readReport, REPORT_OPERATIONS, reportPath, given, show } from './reports.ts';
import {
  latestFirst,
  renderDoctor,
  renderReleases,
  renderSchedules,
  renderTask,
  renderTasks,
  type PublishedHistory,
} from './report-views.ts';
import type { TaskView } from './task-brief.ts';
import { STATUS_COMMAND } from './status-command.ts';
import { exitOfTask, hasEnded } from './task-watch.ts';
import { WATCH_TEXTS } from './watch.ts';

const MAX_TASKS = 500;

/** Each report with its parameters. */
const REPORT_TEXTS = [...REPORT_OPERATIONS].map(([name, { summary }]): readonly [string, string] => {
  const parameters = Object.keys(REPORTS[name].query.shape);
  return [name, parameters.length === 0 ? summary : `${summary} Parameters: ${parameters.join(', ')}.`];
});

/** The commands that only read, except `logs`. */
export const READ_COMMANDS: readonly CtlCommand[] = [
  STATUS_COMMAND,
  {
    name: 'releases',
    synopsis: '[--channel official|localized]',
    summary: 'lists past and present releases',
    optionTexts: [['--channel official|localized', 'shows only this channel'], ...WATCH_TEXTS],
    hasNames: true,
    run: async (context) => {
      const channel = textOption(context.args, 'channel');
      const published = channel === 'official' ? undefined : await publishedIn(context);
      await show(context, 'release.list', given({ channel }), {
        render: (report, view) => renderReleases(report, view, published),
        names: (report) => latestFirst(report).map(({ release_id: id }) => id),
      });
      return CTL_EXITS.ok;
    },
  },
  {
    name: 'tasks',
    synopsis: '[--status NAME] [--limit N]',
    summary: 'lists tasks, newest first',
    optionTexts: [
      [
        `--status ${TASK_STATUSES.join('|')}`,
        'shows only tasks with this status; not with -o json or yaml, which print the whole report',
      ],
      ['--limit N', 'number of tasks; 1 to 500, default 30; not with -o json or yaml'],
      ...WATCH_TEXTS,
    ],
    hasNames: true,
    run: async (context) => {
      const { args, output } = context;
      const status = textOption(args, 'status');
      if (isDataFormat(output) && (status !== undefined || args.values.limit !== undefined)) {
        throw new CtlFailure(
          CTL_EXITS.usage,
          `-o ${output} prints the whole report: leave --status and --limit out`,
        );
      }
      if (status !== undefined && !TASK_STATUSES.some((each) => each === status)) {
        throw new CtlFailure(
          CTL_EXITS.usage,
          `--status ${status}: must be one of ${TASK_STATUSES.join(', ')}`,
        );
      }
      const limit = numberOption(args, 'limit', { min: 1, max: MAX_TASKS, fallback: 30 });
      const chosen = (items: readonly TaskView[]): readonly TaskView[] =>
        items.filter((task) => status === undefined || task.status === status).slice(0, limit);
      await show(
        context,
        'task.list',
        {},
        {
          render: ({ items }, view) => renderTasks(chosen(items), view),
          names: ({ items }) => chosen(items).map(({ task_id: id }) => id),
        },
      );
      return CTL_EXITS.ok;
    },
  },
  {
    name: 'task show',
    synopsis: 'TASK',
    summary: 'shows one task; with --watch until it has ended, and exits with 0 only if it succeeded',
    words: [1, 1],
    optionTexts: WATCH_TEXTS,
    hasNames: true,
    run: async (context) => {
      const [taskId = ''] = context.words;
      const report = await show(
        context,
        'task.status',
        { task_id: taskId },
        {
          render: ({ task }, view) => renderTask(task, view),
          names: ({ task }) => [task.task_id],
        },
      );
      if (context.watch === null || !hasEnded(report.task)) return CTL_EXITS.ok;
      context.watch.end();
      return exitOfTask(report.task);
    },
  },
  {
    name: 'schedules',
    synopsis: '[--group res|parse|i18n]',
    summary: 'lists schedules with their next run and the result of the last one',
    optionTexts: [['--group res|parse|i18n', 'shows only schedules of this group'], ...WATCH_TEXTS],
    hasNames: true,
    run: async (context) => {
      const query = given({ group: textOption(context.args, 'group') });
      const answer = await context.api.get(reportPath('schedule.list'), query);
      await printAnswer(context, answer, ScheduleListReport.schema, {
        render: renderSchedules,
        names: ({ items }) => items.map(({ id }) => id),
      });
      return CTL_EXITS.ok;
    },
  },
  {
    name: 'doctor',
    summary: 'shows the checks of the daemon and the server, worst first',
    optionTexts: WATCH_TEXTS,
    hasNames: true,
    run: async (context) => {
      const report = await show(
        context,
        'daemon.doctor',
        {},
        {
          render: renderDoctor,
          names: ({ checks }) => checks.map(({ id }) => id),
        },
      );
      return report.status === 'failing' ? CTL_EXITS.failed : CTL_EXITS.ok;
    },
  },
  {
    name: 'report',
    synopsis: 'REPORT [parameter=value ...]',
    summary: 'prints any report of the daemon as JSON or YAML',
    words: [1, Infinity],
    optionTexts: REPORT_TEXTS,
    run: async (context) => {
      const [name = '', ...words] = context.words;
      if (!isReportName(name)) {
        const hint = didYouMean(name, [...REPORT_OPERATIONS.keys()]) || '; "report --help" lists them';
        throw new CtlFailure(CTL_EXITS.usage, `there is no report "${name}"${hint}`);
      }
      const answer = await context.api.get(reportPath(name), parametersOf(words));
      if (isDataFormat(context.output)) await printData(context, answer);
      else context.stdout.write(`${indentJson(answer)}\n`);
      return CTL_EXITS.ok;
    },
  },
];

/** The published localized releases, for people; without them the list of releases is still shown. */
async function publishedIn({ api, output }: CtlContext): Promise<PublishedHistory> {
  if (isDataFormat(output) || output === 'name') return undefined;
  try {
    return (await readReport(api, 'translation.status')).history;
  } catch (error) {
    if (error instanceof CtlFailure) return undefined;
    throw error;
  }
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
