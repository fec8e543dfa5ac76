import { HELP_WIDTH, helpColumns, sentenceOf, wrapText } from '../../platform/terminal/help-columns.ts';
import type { CtlCommand } from './ctl-context.ts';
import { CTL_EXIT_TEXTS, CTL_EXITS } from './ctl-exits.ts';
import { COMMON_OPTION_TEXTS } from './ctl-options.ts';
import { EXCHANGE_COMMANDS } from './exchange/exchange-commands.ts';
import { JOB_COMMANDS } from './job-commands.ts';
import { LOGS_COMMAND } from './log-commands.ts';
import { READ_COMMANDS } from './read-commands.ts';
import { RUN_COMMANDS } from './run-commands.ts';
import { TRANSLATION_COMMANDS } from './translations/translation-commands.ts';
import { WORK_COMMANDS } from './work-commands.ts';

/** Every command of `slipway ctl`. */
export const CTL_COMMANDS: readonly CtlCommand[] = [
  ...READ_COMMANDS,
  LOGS_COMMAND,
  ...JOB_COMMANDS,
  ...TRANSLATION_COMMANDS,
  ...WORK_COMMANDS,
  ...EXCHANGE_COMMANDS,
  ...RUN_COMMANDS,
];

const USAGE_INDENT = ' '.repeat(9);

/** Finds the command at the start of the words; the longest name wins. */
export function findCtlCommand(words: readonly string[]): CtlCommand | null {
  const named = (count: number): CtlCommand | undefined =>
    CTL_COMMANDS.find(({ name }) => name === words.slice(0, count).join(' '));
  return named(2) ?? named(1) ?? null;
}

/** The commands of two words that begin with this one, such as those of `translations`. */
export function ctlCommandsOf(group: string): readonly CtlCommand[] {
  return CTL_COMMANDS.filter(({ name }) => name.startsWith(`${group} `));
}

/** The help of the commands that begin with the same word. */
export function renderGroupHelp(program: string, group: string): string {
  return `Usage: ${program} ${group} COMMAND [OPTIONS]

${helpColumns(ctlCommandsOf(group).map(usageRow))}
Run ${program} ${group} COMMAND --help for details.
`;
}

/** The help of `slipway ctl`, or of one command. */
export function renderCtlHelp(program: string, command: CtlCommand | null): string {
  if (command !== null) {
    const { name, synopsis = '', summary, optionTexts = [] } = command;
    const options = optionTexts.length === 0 ? '' : `\n${helpColumns(optionTexts)}`;
    const usage = wrapText(
      `Usage: ${program} ${name} ${synopsis}`.trimEnd(),
      HELP_WIDTH - USAGE_INDENT.length,
    ).join(`\n${USAGE_INDENT}`);
    const about = wrapText(sentenceOf(summary), HELP_WIDTH).join('\n');
    return `${usage}\n\n${about}\n${options}\n${program} --help lists the options of every command.\n`;
  }
  const exits = (Object.keys(CTL_EXITS) as Array<keyof typeof CTL_EXITS>).map((name): [string, string] => [
    String(CTL_EXITS[name]),
    CTL_EXIT_TEXTS[name].replaceAll('`', ''),
  ]);
  return `Usage: ${program} [OPTIONS] COMMAND

Reads reports from a running Slipway and starts actions on it.

${helpColumns(CTL_COMMANDS.map(usageRow))}
${helpColumns(COMMON_OPTION_TEXTS)}
Exit codes:
${helpColumns(exits)}`;
}

function usageRow({ name, synopsis = '', summary }: CtlCommand): [string, string] {
  return [`${name} ${synopsis}`.trimEnd(), summary];
}
