import {
  TOO_MANY_REQUESTS,
  content,
  json,
  problem,
  type AnswerDefinition,
  type OperationDefinition,
} from './operation-definition.ts';
import { AcceptedAnswer, AdminIndexAnswer } from '../schemas/answers/admin.ts';
import { REPORTS, type ReportName } from '../reports/reports.ts';
import { ControlBodySchema } from '../actions/control-body.ts';
import { AnyQuery, NoQuery } from '../schemas/query.ts';

const UNAUTHENTICATED = problem('The admin token is missing or invalid.', 'not_authenticated');
const INVALID = problem(
  'A parameter is missing, malformed, out of bounds, repeated or unknown.',
  'invalid_request',
);
const INVALID_TASK = problem(
  'The `task_id` is missing or malformed, or names no task.',
  'invalid_request',
  'unknown_task',
);
const INVALID_PATH = problem(
  'A parameter is missing, malformed, out of bounds, repeated or unknown, or a path leaves its root.',
  'invalid_request',
  'invalid_path',
);
const ADMIN = { method: 'get', tag: 'Admin', auth: 'admin', tolerateUnknownQuery: false } as const;

/** The console and the authenticated admin operations. */
export const ADMIN_OPERATIONS = {
  getDashboard: {
    method: 'get',
    path: '/admin/dashboard/',
    tag: 'Admin',
    summary: 'The page of the console; it contains no data.',
    query: AnyQuery,
    auth: 'none',
    tolerateUnknownQuery: true,
    answers: { 200: content('text/html', 'The page.') },
  },
  getAdminIndex: {
    ...ADMIN,
    path: '/admin/',
    summary: 'Admin links and the allowlisted control actions.',
    query: NoQuery,
    answers: {
      200: json('AdminIndex', AdminIndexAnswer, 'The index.'),
      400: INVALID,
      401: UNAUTHENTICATED,
      429: TOO_MANY_REQUESTS,
    },
  },
  getDiagnostics: read('/admin/diagnostics', 'daemon.doctor', 'The doctor diagnostics of the daemon.'),
  getLogs: read('/admin/logs', 'daemon.logs', 'The newest log lines of the daemon.'),
  listTasks: read('/admin/tasks', 'task.list', 'The asynchronous tasks of the daemon.'),
  getTaskStatus: read('/admin/tasks/status', 'task.status', 'One task.'),
  getTaskLogs: read('/admin/tasks/logs', 'task.logs', 'The log of one task.'),
  getParseStatus: read('/admin/parse/status', 'parse.status', 'The state of the parse index.'),
  listTextUnits: read('/admin/parse/text-units', 'parse.text_units', 'TextUnits of the parse index.'),
  listParseErrors: read('/admin/parse/errors', 'parse.errors', 'Errors of the parse index.'),
  listSchedules: read('/admin/schedules', 'schedule.list', 'Schedules.'),
  listTranslationTasks: read('/admin/translation/tasks', 'translation.tasks', 'Translation tasks.'),
  getTranslationHandoff: read(
    '/admin/translation/handoff',
    'translation.handoff',
    'Units that are ready for translators, and blocked ones.',
  ),
  getMemorySummary: read(
    '/admin/translation/memory/summary',
    'translation.memory.summary',
    'Translation Memory availability and candidate and trusted counts.',
  ),
  queryMemory: read(
    '/admin/translation/memory/query',
    'translation.memory.query',
    'Translation Memory matches with reuse decision and provenance.',
  ),
  listMemoryConflicts: read(
    '/admin/translation/memory/conflicts',
    'translation.memory.conflicts',
    'Groups of trusted records with one identity and several targets.',
  ),
  getGlossarySummary: read(
    '/admin/translation/glossary/summary',
    'translation.glossary.summary',
    'Glossary availability and review-state counts.',
  ),
  queryGlossary: read(
    '/admin/translation/glossary/query',
    'translation.glossary.query',
    'Glossary terms with source and review history.',
  ),
  diagnoseGlossary: read(
    '/admin/translation/glossary/diagnose',
    'translation.glossary.diagnose',
    'Constraints, diagnostics, blocked decision and the stable `qa_identity` of a text.',
  ),
  getLocalizedStatus: read(
    '/admin/translation/status',
    'translation.status',
    'The localized release status.',
  ),
  getReleaseStatus: read(
    '/admin/releases/status',
    'release.status',
    'The relation of the current official and localized releases, and their integrity.',
  ),
  listReleaseHistory: read('/admin/releases', 'release.list', 'Releases, past and present.'),
  postControl: {
    method: 'post',
    path: '/admin/control/{action}',
    tag: 'Control',
    summary: 'Forwards an allowlisted control action to the daemon.',
    query: NoQuery,
    body: ControlBodySchema,
    auth: 'admin',
    daemon: { control: true },
    tolerateUnknownQuery: false,
    answers: {
      202: json('Accepted', AcceptedAnswer, 'Accepted by the daemon.'),
      400: problem(
        'The action parameters are invalid.',
        'invalid_request',
        'invalid_path',
        'action_not_schedulable',
      ),
      401: UNAUTHENTICATED,
      429: TOO_MANY_REQUESTS,
      403: problem(
        'Control is not exposed, no admin token is configured, or the token may not call this action.',
        'control_forbidden',
        'scope_missing',
      ),
      404: problem('No action has this name.', 'unknown_action'),
      413: problem('The body exceeds the limit.', 'body_too_large'),
      415: problem('The body is not `application/json`.', 'unsupported_media_type'),
      501: problem('The daemon does not implement the action.', 'not_implemented'),
      502: problem(
        'The daemon answered and rejected the action (`daemon_rejected`; `daemon` has its own status, such as 409, and its code), or it could not be reached (`daemon_unreachable`).',
        'daemon_rejected',
        'daemon_unreachable',
      ),
    },
  },
} as const satisfies Record<string, OperationDefinition>;

function read<N extends ReportName, P extends string>(
  path: P,
  name: N,
  summary: string,
): OperationDefinition & {
  readonly path: P;
  readonly query: (typeof REPORTS)[N]['query'];
  readonly daemon: { readonly report: N };
} {
  const { answer, backend, query } = REPORTS[name];
  return {
    ...ADMIN,
    path,
    summary,
    query,
    daemon: { report: name },
    answers: {
      200: json(componentName(name), answer, `The ${name} report.`),
      400: invalidAnswer(name),
      401: UNAUTHENTICATED,
      429: TOO_MANY_REQUESTS,
      503: problem(`The daemon ${backend} backend is unavailable.`, 'backend_unavailable'),
    },
  };
}

/** The 400 of a report: what can be wrong depends on its parameters. */
function invalidAnswer(name: ReportName): AnswerDefinition {
  if (name === 'task.status' || name === 'task.logs') return INVALID_TASK;
  const parameters = Object.keys(REPORTS[name].query.shape);
  const takesFile = parameters.some((each) => each === 'translation_memory_path' || each === 'glossary_path');
  return takesFile ? INVALID_PATH : INVALID;
}

/** `parse.text_units` becomes `ParseTextUnitsReport`. */
function componentName(report: ReportName): string {
  const words = report.split(/[._]/).map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return `${words.join('')}Report`;
}
