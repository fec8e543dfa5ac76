import { cutLine } from '../../platform/terminal/columns.ts';
import { countText } from '../../domain/count-text.ts';
import type { CtlContext, CtlOutput, ServiceCommand } from './ctl-context.ts';
import { isTransient, type CtlExit, type CtlFailure } from './ctl-exits.ts';
import { numberOption } from './ctl-options.ts';

const DEFAULT_SECONDS = 2;
const LONGEST_SECONDS = 3600;

/** The options of a command that can run repeatedly. */
export const WATCH_TEXTS: ReadonlyArray<readonly [string, string]> = [
  ['-w, --watch', 'shows it again whenever it has changed, until Ctrl-C'],
  ['--interval SECONDS', `time between two polls of --watch; default ${DEFAULT_SECONDS}`],
];

const CLEAR = '\u001b[H\u001b[2J';

/**
 * Runs a command repeatedly. A terminal shows the latest answer alone; elsewhere each answer that differs from the
 * previous one is added. Ages alone do not count as a change.
 *
 * @returns the exit code of the last run
 * @throws CtlFailure when the first run fails, and for a later failure that is not transient
 */
export async function watchCommand(command: ServiceCommand, context: CtlContext): Promise<CtlExit> {
  const bounds = { min: 1, max: LONGEST_SECONDS, fallback: DEFAULT_SECONDS };
  const waitMs = numberOption(context.args, 'interval', bounds) * 1000;
  const { clock, signal, stderr } = context;
  let shown: string | null = null;
  for (;;) {
    const run = await runOnce(command, context).catch((error: unknown) => {
      if (shown === null || !isTransient(error)) throw error;
      stderr.write(`${(error as CtlFailure).message}\n`);
      return null;
    });
    if (run !== null) {
      const text = run.text.toString('utf8');
      const facts = withoutTimes(text);
      if (context.stdout.isTTY === true) context.stdout.write(CLEAR + fitted(text, context.stdout));
      else if (facts !== shown)
        context.stdout.write(shown !== null && context.output === 'yaml' ? `---\n${text}` : text);
      shown = facts;
      if (run.ended) return run.exit;
    }
    await clock.sleep(waitMs, signal);
  }
}

interface Run {
  readonly text: Buffer;
  readonly exit: CtlExit;
  readonly ended: boolean;
}

async function runOnce(command: ServiceCommand, context: CtlContext): Promise<Run> {
  const parts: Buffer[] = [];
  let ended = false;
  const stdout = { write: (text: string | Uint8Array) => parts.push(Buffer.from(text as string)) };
  const watch = { end: () => void (ended = true) };
  const exit = await command.run({ ...context, stdout, watch });
  return { text: Buffer.concat(parts), exit, ended };
}

/** Takes out the ages, and the time at which a report was made: a change of these alone does not count. */
function withoutTimes(text: string): string {
  return text.replaceAll(/\((?:in )?\d+[dhms](?: ago)?\)|"?generated_at"?: ?\d+/g, '');
}

function fitted(text: string, { rows, columns }: CtlOutput): string {
  const lines = text.split('\n');
  const fits = rows === undefined || lines.length <= rows;
  const kept = fits ? lines : lines.slice(0, Math.max(1, rows - 2));
  const more = fits ? [] : [`... and ${countText(lines.length - 1 - kept.length, 'more line')}`, ''];
  // A terminal of an unknown width says 0.
  const width = columns === undefined || columns < 1 ? Infinity : columns;
  return [...kept.map((line) => cutLine(line, width)), ...more].join('\n');
}
