import { textFields } from '../../../platform/terminal/text-table.ts';
import type { CtlContext } from '../ctl-context.ts';
import type { CtlExit } from '../ctl-exits.ts';
import { textOption } from '../ctl-options.ts';
import { runJob } from '../job-commands.ts';
import { isDataFormat } from '../output/output-format.ts';
import { printData } from '../output/print-answer.ts';
import { viewOf } from '../output/view.ts';
import { renderTask } from '../report-views.ts';
import { exitOfTask } from '../task-watch.ts';
import { jobArguments, trustedBy } from './exchange-options.ts';
import { renderOutcome } from './outcome-view.ts';

/**
 * Runs a job on a file of the exchange folder once, and shows its result.
 *
 * @param action the kind of the job
 * @throws CtlFailure
 */
export async function runExchangeJob(context: CtlContext, action: string): Promise<CtlExit> {
  const { args, words, output, stdout } = context;
  const [file = ''] = words;
  const trusted = action.endsWith('-import') ? trustedBy(args) : null;
  const { task, answer } = await runJob(context, {
    group: 'i18n',
    action,
    args: jobArguments({
      file,
      format: textOption(args, 'format'),
      include: textOption(args, 'state'),
      source_language: textOption(args, 'source-language'),
      target_language: textOption(args, 'target-language'),
      dry_run: args.values['dry-run'] === true,
      trusted: trusted !== null,
      ...trusted,
    }),
  });
  if (isDataFormat(output)) await printData(context, answer);
  else if (task.status === 'succeeded') {
    const place = `${file} in the folder exchange.root of the daemon`;
    stdout.write(textFields([['file', place], ...renderOutcome(task.result ?? {})]));
  } else stdout.write(renderTask(task, viewOf(context)));
  return exitOfTask(task);
}
