import type { CtlContext } from '../ctl-context.ts';
import { CTL_EXITS, CtlFailure } from '../ctl-exits.ts';

/** Longest answer that is read, characters. */
const MAX_ANSWER = 1000;

/**
 * Asks before something is taken away. `--yes` answers; without a terminal nobody can.
 *
 * @param what the sentence before the question, such as `release-cleanup deletes 2 releases`
 * @throws CtlFailure unless the answer is yes
 */
export async function confirm(context: CtlContext, what: string): Promise<void> {
  if (context.args.values.yes === true) return;
  const { stdin, stderr } = context;
  if (stdin.isTTY !== true) {
    throw new CtlFailure(
      CTL_EXITS.usage,
      `${what}; nothing was changed. Add --yes to do it without a question, or --dry-run to look first`,
    );
  }
  stderr.write('Continue? [y/N] ');
  const answer = await readLine(stdin);
  if (/^(?:y|yes)$/i.test(answer.trim())) return;
  throw new CtlFailure(CTL_EXITS.failed, 'not confirmed; nothing was changed');
}

async function readLine(stdin: CtlContext['stdin']): Promise<string> {
  let text = '';
  for await (const bytes of stdin) {
    text += Buffer.from(bytes).toString('utf8');
    if (text.includes('\n') || text.length > MAX_ANSWER) break;
  }
  return text.split('\n', 1)[0] ?? '';
}
