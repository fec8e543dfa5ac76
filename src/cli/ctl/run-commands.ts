import {
  CONTROL_ACTIONS,
  isControlAction,
  actionDefinition,
  type ControlAction,
} from '../../contract/actions/actions.ts';
import { stringifyJsonExact } from '../../contract/json/json-exact.ts';
import { renderActionHelp } from './actions/action-help.ts';
import { startAction } from './actions/start-action.ts';
import { renderActionBody, type BodyWords } from './action-body.ts';
import type { CtlCommand, CtlContext, LocalCommand } from './ctl-context.ts';
import { collectBounded } from '../../platform/memory/collect-bounded.ts';
import { LOCALIZATION_JOBS } from '../../contract/crd/localization-jobs.ts';
import { CTL_EXITS, CtlFailure } from './ctl-exits.ts';
import { textOption } from './ctl-options.ts';
import { didYouMean } from '../../platform/terminal/usage-error.ts';
import type { ActionDefinition } from '../../contract/actions/action-definition.ts';
import { printItems } from './output/print-answer.ts';
import type { Column } from './output/view.ts';

const BODY_MAX_BYTES = 1024 * 1024;

const KEY_TEXT = [
  '--idempotency-key KEY',
  'key of an earlier call, to send the same action again without starting it twice',
] as const;

const CONFIRM_TEXTS: ReadonlyArray<readonly [string, string]> = [
  ['--dry-run', 'shows what would happen, and changes nothing'],
  ['-y, --yes', 'starts a destructive action without a question; needed where there is no terminal'],
];

const WAIT_TEXTS: ReadonlyArray<readonly [string, string]> = [
  ['--wait', 'waits until the task has ended, shows its progress, and exits with 0 only if it succeeded'],
  ['--wait-timeout SECONDS', 'longest wait; the task keeps running after it'],
  KEY_TEXT,
];

const RUN_TEXTS: ReadonlyArray<readonly [string, string]> = [
  ['--body JSON', 'the whole body; with - as the last word it is read from standard input'],
  ...CONFIRM_TEXTS,
  ...WAIT_TEXTS,
];

interface ListedAction extends Omit<ActionDefinition, 'fields'> {
  readonly action: ControlAction;
}

const ACTION_COLUMNS: ReadonlyArray<Column<ListedAction>> = [
  { title: 'ACTION', cell: ({ action }) => action },
  { title: 'DESTRUCTIVE', cell: ({ destructive }) => (destructive ? 'yes' : '-') },
  { title: 'MODE', cell: ({ mode }) => mode, wide: true },
  { title: 'SCOPE', cell: ({ scope }) => scope, wide: true },
  { title: 'DRY RUN', cell: ({ hasDryRun }) => (hasDryRun === true ? 'yes' : '-'), wide: true },
  { title: 'NEEDS', cell: ({ required }) => required.join(' ') || '-', wide: true },
  { title: 'SUMMARY', cell: ({ summary }) => summary.replaceAll('`', '') },
];

const ACTIONS_COMMAND: LocalCommand = {
  name: 'actions',
  summary: 'lists the actions that run starts; run ACTION --help shows the fields of one',
  hasNames: true,
  isLocal: true,
  run: async (context) => {
    const actions = CONTROL_ACTIONS.map((action): ListedAction => {
      const { fields: _schemas, ...facts } = actionDefinition(action);
      return { action, ...facts };
    });
    await printItems(context, actions, ACTION_COLUMNS, ({ action }) => action);
    return CTL_EXITS.ok;
  },
};

/** The commands that start an action. */
export const RUN_COMMANDS: readonly CtlCommand[] = [
  ACTIONS_COMMAND,
  {
    name: 'run',
    synopsis: 'ACTION [field=value ... | --body JSON | -]',
    summary: 'starts an action; actions lists them, and run ACTION --help shows the fields of one',
    words: [1, Infinity],
    optionTexts: [
      [
        'field=value',
        'a field of the body; repeat it for each item of a list; name a member as source.source_kind=manual',
      ],
      ...RUN_TEXTS,
    ],
    helpFor: ([action = ''], { name }) =>
      isControlAction(action) ? renderActionHelp(name, action, RUN_TEXTS) : renderJobHelp(name, action),
    run: async (context) => {
      const [action = ''] = context.words;
      if (!isControlAction(action)) {
        const hint = didYouMean(action, CONTROL_ACTIONS) || '; "actions" lists them';
        throw new CtlFailure(CTL_EXITS.usage, `there is no action "${action}"${hint}`);
      }
      return await startAction(context, action, renderActionBody(action, await bodyWords(context)));
    },
  },
  {
    name: 'task cancel',
    synopsis: 'TASK [--reason TEXT]',
    summary: 'cancels a queued task, or asks a running one to stop',
    words: [1, 1],
    optionTexts: [['--reason TEXT', 'reason to record on the task'], ...CONFIRM_TEXTS, KEY_TEXT],
    run: async (context) => {
      const [taskId = ''] = context.words;
      const reason = textOption(context.args, 'reason');
      const body = { task_id: taskId, ...(reason === undefined ? {} : { reason }) };
      return await startAction(context, 'task-cancel', stringifyJsonExact(body));
    },
  },
];

/** Jobs that an action with another name starts. */
const ACTIONS_OF_JOBS: Readonly<Record<string, ControlAction>> = {
  proofread: 'translation-proofread',
  'proofread-import': 'translation-proofread',
  'worker-run': 'translation-worker-run',
};

/** The help for a job: that of the action that starts it, or how to start it; `null` for another word. */
function renderJobHelp(program: string, job: string): string | null {
  const action = ACTIONS_OF_JOBS[job];
  if (action !== undefined) {
    return `${job} is the job of the action ${action}.\n\n${renderActionHelp(program, action, RUN_TEXTS)}`;
  }
  if (!LOCALIZATION_JOBS.some((each) => each === job)) return null;
  return `${job} is a job, which schedules run; it is no action. To run it once, add a schedule and start it:

  ${program} run schedule-add id=once group=i18n action=${job} max_runs=1 every_seconds=86400 args=KEY=VALUE
  ${program} run schedule-run id=once --wait

docs/reference/actions.md has the entries of args.
`;
}

async function bodyWords(context: CtlContext): Promise<BodyWords> {
  const [, ...words] = context.words;
  const body = textOption(context.args, 'body');
  const last = words.at(-1);
  if (last !== '-') return { fields: words, json: body ?? null };
  if (body !== undefined) throw new CtlFailure(CTL_EXITS.usage, 'give either --body or -, not both');
  return { fields: words.slice(0, -1), json: await readStandardInput(context) };
}

async function readStandardInput({ stdin }: CtlContext): Promise<string> {
  const bytes = await collectBounded(
    stdin,
    BODY_MAX_BYTES,
    () => new CtlFailure(CTL_EXITS.usage, `the body on standard input exceeds ${BODY_MAX_BYTES} bytes`),
  );
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new CtlFailure(CTL_EXITS.usage, 'the body on standard input is not UTF-8', { cause });
  }
}
