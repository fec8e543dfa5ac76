import type { TextOutput } from '../output/progress-display.ts';
import { usageError } from '../../platform/terminal/usage-error.ts';
import type { CtlIo, CtlProgram } from '../ctl/ctl-context.ts';
import { runCtl } from '../ctl/ctl.ts';
import { completeCtl, type ListNames } from './complete-ctl.ts';
import { completeSlipway, type CompletionSources } from './complete-slipway.ts';
import { renderCompletion } from './completion.ts';
import { COMPLETION_SHELLS, completionScript } from './shell-scripts.ts';

/** Longest wait for names of the service after Tab, seconds. */
const NAMES_TIMEOUT_SECONDS = 3;

const USAGE = `Usage: slipway completion ${COMPLETION_SHELLS.join('|')}

Prints a script for the shell that completes the words of slipway: commands, options, actions and their fields, and the
names of tasks, schedules and releases.

  bash  source <(slipway completion bash)
  zsh   source <(slipway completion zsh)
  fish  slipway completion fish | source

kubectl slipway completes words as soon as kubectl does and kubectl_complete-slipway is in PATH.
`;

/**
 * Runs `slipway completion`: prints the script of a shell.
 *
 * @returns the exit code
 */
export function runCompletion(
  argv: readonly string[],
  { stdout, stderr }: { stdout: TextOutput; stderr: TextOutput },
): number {
  const [name = '', ...more] = argv;
  const shell = COMPLETION_SHELLS.find((each) => each === name);
  if (shell !== undefined && more.length === 0) stdout.write(completionScript(shell));
  else if (name === '--help' || name === '-h') stdout.write(USAGE);
  else {
    stderr.write(usageError('slipway completion', `name one shell: ${COMPLETION_SHELLS.join(', ')}`));
    return 2;
  }
  return 0;
}

/**
 * Answers a shell: prints the words that fit at the cursor. It never fails, because a message would disturb the line.
 *
 * @param words the words after the program; the last one is completed
 * @param usageOf the help of the commands beside `ctl`
 * @returns the exit code
 */
export async function answerShell(
  words: readonly string[],
  io: CtlIo,
  program: CtlProgram,
  usageOf: CompletionSources['usageOf'],
): Promise<number> {
  const list = listNames(io, program);
  const found = program.plugin
    ? await completeCtl(words, list)
    : await completeSlipway(words, { list, usageOf });
  io.stdout.write(renderCompletion(found, words.at(-1) ?? ''));
  return 0;
}

function listNames(io: CtlIo, program: CtlProgram): ListNames {
  return async (argv) => {
    let text = '';
    const stdout = { write: (part: string | Uint8Array) => (text += part.toString()) };
    const signal = AbortSignal.any([io.signal, AbortSignal.timeout(namesTimeoutMs(io.env))]);
    const stderr = { write: () => undefined };
    const code = await runCtl(argv, { ...io, stdout, stderr, signal }, program);
    return code === 0 ? text.split('\n').filter((name) => name !== '') : [];
  };
}

/** SLIPWAY_CTL_COMPLETION_SECONDS, or the default when it is not a whole number from 1 to 99. */
function namesTimeoutMs(env: CtlIo['env']): number {
  const text = env['SLIPWAY_CTL_COMPLETION_SECONDS'] ?? '';
  return (/^[1-9]\d?$/.test(text) ? Number(text) : NAMES_TIMEOUT_SECONDS) * 1000;
}
