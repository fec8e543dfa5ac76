import { actionDefinition, isControlAction } from '../../contract/actions/actions.ts';
import { didYouMean } from '../../platform/terminal/usage-error.ts';
import { argumentFlags } from './actions/field-texts.ts';
import {
  CTL_COMMANDS,
  ctlCommandsOf,
  findCtlCommand,
  renderCtlHelp,
  renderGroupHelp,
} from './ctl-commands.ts';
import type { CtlCommand, CtlProgram } from './ctl-context.ts';
import { CTL_EXITS, CtlFailure } from './ctl-exits.ts';

/** The command in a command line that may be wrong, with the action of `run`, for the hint at its help. */
export function helpWords(argv: readonly string[]): string {
  const command = argv.map((_word, at) => findCtlCommand(argv.slice(at))).find((found) => found !== null);
  const group = argv.find((word) => ctlCommandsOf(word).length > 0);
  if (command === undefined) return group === undefined ? '' : ` ${group}`;
  const action = command.name === 'run' ? argv.find(isControlAction) : undefined;
  return ` ${command.name}${action === undefined ? '' : ` ${action}`}`;
}

/** Writes the options of `run ACTION` that are entries of `args`, such as `--min-state proofread`, as its fields. */
export function withArguments(argv: readonly string[]): readonly string[] {
  const action = argv.find(isControlAction);
  if (action === undefined || !argv.slice(0, argv.indexOf(action)).includes('run')) return argv;
  // The option of the command itself says more: it also shows what an action without a dry run would do.
  const flags = new Map([...argumentFlags(actionDefinition(action))].filter(([name]) => name !== 'dry-run'));
  const words: string[] = [];
  for (let at = 0; at < argv.length; at += 1) {
    const word = argv[at] ?? '';
    const [, name = '', given] = /^--([a-z-]+)(?:=(.*))?$/s.exec(word) ?? [];
    const flag = flags.get(name);
    if (flag === undefined) words.push(word);
    else if (given !== undefined || flag.isFlag) words.push(`args=${flag.key}=${given ?? 'true'}`);
    else words.push(`args=${flag.key}=${valueAfter(argv, (at += 1), name)}`);
  }
  return words;
}

function valueAfter(argv: readonly string[], at: number, option: string): string {
  const value = argv[at];
  if (value !== undefined && !value.startsWith('--')) return value;
  throw new CtlFailure(CTL_EXITS.usage, `--${option} needs a value, such as --${option}=VALUE`);
}

/** The command at the start of the words. @throws CtlFailure when there is none */
export function requireCommand(words: readonly string[]): CtlCommand {
  const command = findCtlCommand(words);
  if (command === null) throw unknownCommand(words);
  return command;
}

/** The names of the commands with `-o name`. */
export function commandsWithNames(): readonly string[] {
  return CTL_COMMANDS.filter(({ hasNames }) => hasNames === true).map(({ name }) => name);
}

/** The help for a command line. @throws CtlFailure when it names no command */
export function helpOf(words: readonly string[], program: CtlProgram): string {
  const command = findCtlCommand(words);
  const [first = ''] = words;
  if (command === null && words.length === 1 && ctlCommandsOf(first).length > 0) {
    return renderGroupHelp(program.name, first);
  }
  if (command === null && words.length > 0) throw unknownCommand(words);
  const after = words.slice(command?.name.split(' ').length);
  return command?.helpFor?.(after, program) ?? renderCtlHelp(program.name, command);
}

function unknownCommand(words: readonly string[]): CtlFailure {
  const [first = '', second = ''] = words;
  if (first === '') return new CtlFailure(CTL_EXITS.usage, 'a command is missing');
  const group = ctlCommandsOf(first).map(({ name }) => name);
  const names = group.length > 0 ? group : CTL_COMMANDS.map(({ name }) => name);
  const written = group.length > 0 ? `${first} ${second}`.trimEnd() : first;
  if (group.length > 0 && second === '') {
    return new CtlFailure(CTL_EXITS.usage, `"${first}" needs one more word: ${group.join(', ')}`);
  }
  // A mistyped first word of two is close to that word, not to both.
  const firsts = names.map((name) => name.split(' ')[0] ?? '');
  const hint = didYouMean(written, names) || didYouMean(written, firsts);
  return new CtlFailure(CTL_EXITS.usage, `there is no command "${written}"${hint}`);
}
