import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { AcceptedAnswer } from '../../../contract/schemas/answers/admin.ts';
import { stringifyJsonExact } from '../../../contract/json/json-exact.ts';
import { printable } from '../../../platform/terminal/text-table.ts';
import type { CtlContext } from '../ctl-context.ts';
import { CTL_EXITS, CtlFailure, type CtlExit } from '../ctl-exits.ts';
import { textOption } from '../ctl-options.ts';
import { printValue } from '../output/print-answer.ts';
import { outcomeOf } from '../report-views.ts';
import { watchTask } from '../task-watch.ts';

const ESTIMATE = z.looseObject({
  provider: z.string(),
  prompt: z.object({ system: z.string(), user: z.string() }).optional(),
});

/** Runs `translations prompt`: the estimate of a run for one task has its first prompt. @throws CtlFailure */
export async function runPrompt(context: CtlContext): Promise<CtlExit> {
  const [task_id = ''] = context.words;
  const provider = textOption(context.args, 'provider');
  const body = { task_id, ...(provider === undefined ? {} : { provider }), args: ['dry_run=true'] };
  const { value } = await context.api.post('translation-worker-run', stringifyJsonExact(body), randomUUID());
  const { task } = await watchTask(context, AcceptedAnswer.schema.parse(value).task_id ?? '');
  if (task.status !== 'succeeded') throw new CtlFailure(CTL_EXITS.failed, outcomeOf(task));
  const { prompt, provider: asked } = ESTIMATE.parse(task.result);
  if (prompt === undefined) {
    throw new CtlFailure(
      CTL_EXITS.failed,
      `${asked} would get no prompt: the task has no text to translate, or the provider takes none`,
    );
  }
  await printValue(context, prompt, () => printableLines(`${prompt.system}\n\n${pretty(prompt.user)}\n`));
  return CTL_EXITS.ok;
}

function pretty(user: string): string {
  return JSON.stringify(JSON.parse(user), null, 2);
}

function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}
