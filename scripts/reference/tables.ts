import { actionDefinition, CONTROL_ACTIONS } from '../../src/contract/actions/actions.ts';
import type { FieldChoice } from '../../src/contract/actions/action-definition.ts';
import { listOperations } from '../../src/contract/operations/operations.ts';
import { DAEMON_PROBLEMS } from '../../src/contract/problems/daemon-problems.ts';
import { PROBLEMS, type ProblemCode } from '../../src/contract/problems/problems.ts';
import { BACKUP_JOB } from '../../src/daemon/backup/backup-job.ts';
import { GLOSSARY_JOBS } from '../../src/localization/glossary/glossary-jobs.ts';
import { MEMORY_JOBS } from '../../src/localization/memory/memory-jobs.ts';
import { PARSE_JOBS } from '../../src/localization/parse/parse-jobs.ts';
import { TRANSLATION_JOBS } from '../../src/localization/translation/translation-jobs.ts';
import { LOCALIZED_FOLLOW_JOB } from '../../src/localization/localized/automation/follow-rules.ts';
import { LOCALIZED_ROLLBACK_JOB } from '../../src/localization/localized/rollback/rollback-task.ts';
import { LOCALIZED_PUBLISH_JOB } from '../../src/localization/localized/publish/publish-job.ts';
import { RELEASE_JOBS } from '../../src/releases/jobs/release-jobs.ts';
import { DAEMON_CONDITIONS } from '../../src/domain/service-state/daemon-conditions.ts';
import { REMEDIES, SERVICE_REASONS } from '../../src/domain/service-state/service-reasons.ts';
import { SERVICE_STATES } from '../../src/domain/service-state/service-state.ts';
import { REASONS } from '../../src/domain/verdict/reasons.ts';
import type { JobDefinition } from '../../src/engine/tasks/job.ts';
import { codes, table } from './markdown.ts';

const NOTE = 'Generated from the contract by `make docs`; do not edit.';

/** The jobs of the daemon, in the order of the page. */
export const EVERY_JOB: readonly JobDefinition[] = [
  ...RELEASE_JOBS,
  LOCALIZED_PUBLISH_JOB,
  LOCALIZED_ROLLBACK_JOB,
  LOCALIZED_FOLLOW_JOB,
  ...PARSE_JOBS,
  ...TRANSLATION_JOBS,
  ...MEMORY_JOBS,
  ...GLOSSARY_JOBS,
  BACKUP_JOB,
];

/** docs/reference/problems.md */
export function renderProblems(): string {
  const rowsOf = (ofDaemon: boolean): string[][] =>
    (Object.keys(PROBLEMS) as ProblemCode[])
      .filter((code) => code in DAEMON_PROBLEMS === ofDaemon)
      .map((code) => ({ code, ...PROBLEMS[code] }))
      .sort((left, right) => left.status - right.status)
      .map(({ code, status, title, description }) => [`\`${code}\``, String(status), title, description]);
  const header = ['Code', 'Status', 'Title', 'When, and what to do'];
  return `# Problems

${NOTE}

Every error, except those inside launcher envelopes, is a problem body (RFC 9457, \`application/problem+json\`) with
\`type\`, \`title\`, \`status\`, \`detail\`, \`instance\` (the request id, which the log also has) and \`code\`. Where they
apply, it also has \`reason\` (see [reasons](reasons.md)) with its runbook in \`documentation\`, \`errors\` (a list of \`pointer\` and \`message\`) and \`daemon\`
(the \`status\` and \`code\` of the daemon's answer).

## Codes of the service

${table(header, rowsOf(false))}

## Codes of the daemon

The service forwards errors with status 400 unchanged. A caller sees the others as \`daemon.code\` of a 502
\`daemon_rejected\`.

${table(header, rowsOf(true))}
`;
}

/** docs/reference/reasons.md */
export function renderReasons(): string {
  const linked = (reasons: Readonly<Record<string, string>>): string[][] =>
    Object.entries(reasons).map(([reason, text]) => [`[\`${reason}\`](../runbooks/${reason}.md)`, text]);
  return `# Reasons

${NOTE}

Why a release is not distributable. Probe bodies, problem bodies, metric labels, log lines, \`ReleaseChannel\` conditions,
events and the console all use these constants. Each has a runbook.

${table(['Reason', 'Meaning, and what to do'], linked(REASONS))}

## The state of the service

\`/healthz\` tells in \`service\` one state for the service and one for each channel. The command line, the overview, the doctor,
the metrics, the log and the conditions of a ReleaseChannel show the same state.

${table(['State', 'Meaning'], Object.entries(SERVICE_STATES).map(named))}

The reason of a state is the first cause: one of the reasons above, or one of these.

${table(['Reason', 'Meaning'], linked(SERVICE_REASONS))}

Each reason has one next step. A state may name another one when more is known, such as a repair that already runs.

${table(
  ['Reason', 'Next step', 'Action'],
  Object.entries(REMEDIES).map(([reason, { text, action }]) => [
    `\`${reason}\``,
    text,
    action === null ? '-' : `\`${action}\``,
  ]),
)}

## Conditions of the daemon

The daemon tells these with every answer to the poll for an attestation ([protocol](daemon-protocol.md)).

${table(['Condition', 'Meaning'], Object.entries(DAEMON_CONDITIONS).map(named))}
`;
}

function named([name, text]: readonly [string, string]): string[] {
  return [`\`${name}\``, text];
}

/** docs/reference/operations.md */
export function renderOperations(): string {
  const operations = listOperations();
  const overview = operations.map(({ id, method, path, auth, daemon }) => [
    `\`${id}\``,
    method.toUpperCase(),
    `\`${path}\``,
    auth,
    daemon === undefined ? '-' : 'report' in daemon ? `\`${daemon.report}\`` : 'control action',
  ]);
  const answers = operations.flatMap(({ id, answers: byStatus }) =>
    Object.entries(byStatus).map(([status, each]) => [
      `\`${id}\``,
      status,
      each.description,
      each.kind === 'problem' ? codes(each.codes) : '-',
    ]),
  );
  return `# Operations

${NOTE} The full description is [openapi.yaml](openapi.yaml).

\`auth\`: \`none\` never needs a token, \`public\` needs one only if the server is configured to require it, \`admin\` always
does.

${table(['Operation', 'Method', 'Path', 'Auth', 'Daemon'], overview)}

## Answers

${table(['Operation', 'Status', 'When', 'Codes'], answers)}
`;
}

/** docs/reference/actions.md */
export function renderActions(): string {
  const rows = CONTROL_ACTIONS.map((action) => {
    const definition = actionDefinition(action);
    const name = `[\`${action}\`](schemas/actions/${action}.json)${definition.destructive ? ' (destructive)' : ''}`;
    const required = [
      ...definition.required.map((field) => `\`${field}\``),
      ...definition.choices.map(describeChoice),
    ];
    return [
      name,
      definition.summary,
      definition.mode,
      required.join('; ') || '-',
      codes(definition.used),
      codes(definition.errors),
    ];
  });
  return `# Control actions

${NOTE}

\`POST /admin/control/{action}\`. A body field that is valid but not used by the action is accepted and listed in
\`ignored_fields\`. \`reviewer\` and \`reason\` are recorded on the task of every action. \`inline\` actions have finished when
the response arrives; poll \`queued\` ones at \`/admin/tasks/status\`.

${table(['Action', 'Purpose', 'Runs', 'Required', 'Used', 'Errors of the daemon'], rows)}

## Jobs

Control actions, schedules and events of the daemon queue tasks of jobs. A lane runs one task at a time. A schedule names
the job in \`action\`, and gives its arguments as \`key=value\` pairs in \`args\`; \`reviewer\` and \`reason\` are recorded on
the task.

${table(['Job', 'Purpose', 'Lane', 'Groups of schedules', 'Arguments', 'Attempts'], EVERY_JOB.map(jobRow))}
`;
}

function jobRow(job: JobDefinition): string[] {
  return [
    `\`${job.kind}\``,
    job.summary,
    `\`${job.lane}\``,
    codes(job.groups),
    codes(Object.keys(job.arguments.shape)),
    String(job.maxAttempts),
  ];
}

function describeChoice({ fields, rule }: FieldChoice): string {
  const words = { one: 'exactly one of', some: 'at least one of', exclusive: 'at most one of' };
  return `${words[rule]} ${codes(fields)}`;
}
