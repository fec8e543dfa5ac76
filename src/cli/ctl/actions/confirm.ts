import { once } from 'node:events';
import type { CtlContext } from '../ctl-context.ts';
import { CTL_EXITS, CtlFailure } from '../ctl-exits.ts';

const MAX_ANSWER = 1000;

/**
 * Asks before a destructive action. `--yes` answers; without a terminal nobody can.
 *
 * @param what the sentence before the question, such as `release-cleanup deletes 2 releases`
 * @throws CtlFailure unless the answer is yes; the reason of the signal on Ctrl-C
 */
export async function confirm(context: CtlContext, what: string): Promise<void> {
  if (context.args.values.yes === true) return;
  const { stdin, stderr, signal } = context;
  if (stdin.isTTY !== true) {
    throw new CtlFailure(
      CTL_EXITS.usage,
      `${what}; nothing was changed. Add --yes to skip the question, or --dry-run to see what would happen`,
    );
  }
  stderr.write('Continue? [y/N] ');
  const answer = await unlessInterrupted(readAnswer(stdin), signal);
  if (/^(?:y|yes)$/i.test(answer.trim())) return;
  throw new CtlFailure(CTL_EXITS.failed, 'not confirmed; nothing was changed');
}

/** Does not wait for the end of the read: a read from a terminal cannot be taken back. */
async function unlessInterrupted(answer: Promise<string>, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  const settled = new AbortController();
  const interrupted = once(signal, 'abort', { signal: settled.signal }).then(() => {
    throw signal.reason as Error;
  });
  try {
    return await Promise.race([answer, interrupted]);
  } finally {
    settled.abort();
  }
}

async function readAnswer(stdin: CtlContext['stdin']): Promise<string> {
  let text = '';
  for await (const bytes of stdin) {
    text += Buffer.from(bytes).toString('utf8');
    if (text.includes('\n') || text.length > MAX_ANSWER) break;
  }
  return text.split('\n', 1)[0] ?? '';
}
