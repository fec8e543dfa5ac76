import { randomUUID } from 'node:crypto';
import {
  actionDefinition,
  CONTROL_ACTIONS,
  isControlAction,
  type ControlAction,
} from '../../contract/actions/actions.ts';
import { stringifyJsonExact } from '../../contract/json/json-exact.ts';
import { AcceptedAnswer } from '../../contract/schemas/answers/admin.ts';
import { unixSeconds } from '../../platform/process/clock.ts';
import { renderActionBody, type BodyWords } from './action-body.ts';
import type { CtlCommand, CtlContext } from './ctl-context.ts';
import { collectBounded } from '../../platform/memory/collect-bounded.ts';
import { CTL_EXITS, CtlFailure, type CtlExit } from './ctl-exits.ts';
import { textOption } from './ctl-options.ts';
import { printAnswer, printRaw } from './print-answer.ts';
import { renderAccepted, renderTask } from './report-views.ts';
import { exitOfTask, watchTask } from './task-watch.ts';
import { waitTimeoutMs } from './wait-timeout.ts';

/** Largest body that the service takes. */
const BODY_MAX_BYTES = 1024 * 1024;

const WAIT_OPTIONS = ['wait', 'wait-timeout', 'idempotency-key'] as const;
const WAIT_TEXTS: ReadonlyArray<readonly [string, string]> = [
  ['--wait', 'waits until the task has ended, shows its progress, and exits with 0 only if it succeeded'],
  ['--wait-timeout SECONDS', 'longest wait; the task keeps running after it'],
  [
    '--idempotency-key KEY',
    'key of an earlier call, to send the same action again without starting it twice',
  ],
];

/** The commands that start an action. */
export const RUN_COMMANDS: readonly CtlCommand[] = [
  {
    name: 'run',
    synopsis: 'ACTION [field=value ... | --body JSON | -]',
    summary: 'starts a control action',
    words: [1, Infinity],
    options: ['body', ...WAIT_OPTIONS],
    optionTexts: [
      [
        'field=value',
        'a field of the body; repeat it for each item of a list; name a member as source.source_kind=manual',
      ],
      ['--body JSON', 'the whole body; with - as the last word it is read from standard input'],
      ...WAIT_TEXTS,
    ],
    run: async (context) => {
      const [action = ''] = context.words;
      if (!isControlAction(action)) {
        const list = CONTROL_ACTIONS.map((each) => `  ${each}: ${actionDefinition(each).summary}`).join('\n');
        throw new CtlFailure(CTL_EXITS.usage, `there is no action "${action}"; the actions are:\n${list}`);
      }
      return await start(context, action, renderActionBody(action, await bodyWords(context)));
    },
  },
  {
    name: 'task cancel',
    synopsis: 'ID [--reason TEXT]',
    summary: 'cancels a queued task, or asks a running one to stop',
    words: [1, 1],
    options: ['reason', 'idempotency-key'],
    optionTexts: [['--reason TEXT', 'reason to record on the task']],
    run: async (context) => {
      const [taskId = ''] = context.words;
      const reason = textOption(context.args, 'reason');
      const body = { task_id: taskId, ...(reason === undefined ? {} : { reason }) };
      return await start(context, 'task-cancel', stringifyJsonExact(body));
    },
  },
];

async function start(context: CtlContext, action: ControlAction, body: string | null): Promise<CtlExit> {
  const { api, args } = context;
  const key = textOption(args, 'idempotency-key') ?? randomUUID();
  const answer = await api.post(action, body, key).catch((error: unknown) => {
    if (!(error instanceof CtlFailure) || !isUnclear(error)) throw error;
    throw new CtlFailure(
      error.exit,
      `${error.message}\nTo repeat the action without starting it twice, add --idempotency-key ${key}`,
      { cause: error },
    );
  });
  const parsed = AcceptedAnswer.schema.safeParse(answer.value);
  if (args.values.wait !== true || !parsed.success) {
    printAnswer(context, answer, AcceptedAnswer.schema, renderAccepted);
    return CTL_EXITS.ok;
  }
  return await waitFor(context, parsed.data.task_id);
}

async function waitFor(context: CtlContext, taskId: string): Promise<CtlExit> {
  const { task, answer } = await watchTask(context, taskId, waitTimeoutMs(context.args));
  if (context.json) printRaw(context, answer.body);
  else context.stdout.write(renderTask(task, unixSeconds(context.clock)));
  return exitOfTask(task);
}

/** Whether the action may have started despite the failure. */
function isUnclear({ exit }: CtlFailure): boolean {
  return exit === CTL_EXITS.unreachable || exit === CTL_EXITS.unavailable;
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
