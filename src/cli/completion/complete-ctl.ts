import { actionDefinition, CONTROL_ACTIONS, isControlAction } from '../../contract/actions/actions.ts';
import { isReportName, REPORTS } from '../../contract/reports/reports.ts';
import { fieldTexts } from '../ctl/actions/field-texts.ts';
import { CTL_COMMANDS, findCtlCommand } from '../ctl/ctl-commands.ts';
import type { CtlCommand } from '../ctl/ctl-context.ts';
import { COMMON_OPTION_TEXTS, CTL_OPTIONS, longNameOf } from '../ctl/ctl-options.ts';
import { SERVICE_OPTIONS } from '../ctl/ctl-target.ts';
import { REPORT_OPERATIONS } from '../ctl/reports.ts';
import { FILES, NOTHING, wordsOnly, type Candidate, type Completion } from './completion.ts';

/**
 * Lists names that the service has.
 *
 * @param argv a command line of `slipway ctl` that prints one name a line
 * @returns no names when they cannot be read
 */
export type ListNames = (argv: readonly string[]) => Promise<readonly string[]>;

const LISTS: Readonly<Record<string, readonly string[]>> = {
  FROM: ['releases'],
  RELEASE: ['releases'],
  SCHEDULE: ['schedules'],
  TASK: ['tasks'],
  TO: ['releases'],
};

/** Fields of actions whose values are names of the service. */
const FIELD_PLACEHOLDERS: Readonly<Record<string, string>> = {
  'release-cleanup.id': 'RELEASE',
  'schedule-remove.id': 'SCHEDULE',
  'schedule-run.id': 'SCHEDULE',
  'schedule-update.id': 'SCHEDULE',
  'task-cancel.task_id': 'TASK',
};

interface Line {
  readonly words: readonly string[];
  /** The options with their values, to reach the same service. */
  readonly options: readonly string[];
  /** The option whose value is completed, without dashes; `null` for none. */
  readonly pending: string | null;
}

/**
 * Completes a command line of `slipway ctl`.
 *
 * @param words the words after `ctl`; the last one is completed and may be empty
 */
export async function completeCtl(words: readonly string[], list: ListNames): Promise<Completion> {
  const typed = words.at(-1) ?? '';
  const line = splitLine(words.slice(0, -1));
  const plain = line.words[0] === 'help' ? line.words.slice(1) : line.words;
  const command = findCtlCommand(plain);
  const place = { line, list };
  if (line.pending !== null) return await valuesOf(placeholderOf(command, line.pending), place);
  const [option = '', value] = typed.split('=', 2);
  if (option.startsWith('--') && value !== undefined) {
    const found = await valuesOf(placeholderOf(command, option.slice(2)), place);
    return { ...found, candidates: prefixed(`${option}=`, found.candidates) };
  }
  if (typed.startsWith('-')) return { candidates: optionsOf(command), files: false };
  if (command === null) return { candidates: nextWords(plain), files: false };
  const operands = plain.slice(command.name.split(' ').length);
  if (command.name === 'run' && operands.length > 0) return await fieldsOf(operands[0] ?? '', typed, place);
  if (command.name === 'report' && operands.length > 0) return parametersOf(operands[0] ?? '');
  const both = (command.synopsis ?? '').replaceAll(/\[[^\]]*\]/g, '').match(/\S+/g) ?? [];
  return await valuesOf(both[operands.length] ?? '', place);
}

interface Place {
  readonly line: Line;
  readonly list: ListNames;
}

async function valuesOf(placeholder: string, { line, list }: Place): Promise<Completion> {
  if (placeholder.includes('|')) return wordsOnly(placeholder.split('|'));
  if (placeholder === 'FILE' || placeholder === 'DIR') return FILES;
  if (placeholder === 'REPORT') return wordsOnly([...REPORT_OPERATIONS.keys()]);
  if (placeholder === 'ACTION') {
    const candidates = CONTROL_ACTIONS.map((action) => ({
      value: action,
      meaning: actionDefinition(action).summary.replaceAll('`', ''),
    }));
    return { candidates, files: false };
  }
  const lister = LISTS[placeholder];
  if (lister === undefined) return NOTHING;
  return wordsOnly(await list([...lister, ...line.options, '-o', 'name']));
}

async function fieldsOf(action: string, typed: string, place: Place): Promise<Completion> {
  if (!isControlAction(action)) return NOTHING;
  const fields = fieldTexts(actionDefinition(action));
  const field = fields.find(({ name }) => typed.startsWith(`${name}=`));
  if (field !== undefined) {
    const placeholder = FIELD_PLACEHOLDERS[`${action}.${field.name}`] ?? field.value;
    const found = await valuesOf(placeholder, place);
    return { ...found, candidates: prefixed(`${field.name}=`, found.candidates) };
  }
  const candidates = fields.map(({ name, meaning }) => ({ value: `${name}=`, meaning }));
  return { candidates, files: false };
}

function parametersOf(report: string): Completion {
  if (!isReportName(report)) return NOTHING;
  return wordsOnly(Object.keys(REPORTS[report].query.shape).map((name) => `${name}=`));
}

function nextWords(words: readonly string[]): readonly Candidate[] {
  const names = new Map<string, string>();
  for (const { name, summary } of CTL_COMMANDS) {
    const parts = name.split(' ');
    const next = parts[words.length];
    if (next === undefined || words.some((word, at) => word !== parts[at])) continue;
    const isWhole = parts.length === words.length + 1;
    const others = names.get(next);
    names.set(next, isWhole ? summary : (others ?? `commands for ${next}`));
  }
  return [...names].map(([value, meaning]) => ({ value, meaning }));
}

function optionsOf(command: CtlCommand | null): readonly Candidate[] {
  return [...(command?.optionTexts ?? []), ...COMMON_OPTION_TEXTS].flatMap(([option, meaning]) => {
    const name = longNameOf(option);
    return name === null ? [] : [{ value: `--${name}`, meaning }];
  });
}

function placeholderOf(command: CtlCommand | null, option: string): string {
  const texts = [...(command?.optionTexts ?? []), ...COMMON_OPTION_TEXTS];
  const found = texts.find(([text]) => longNameOf(text) === option);
  return found?.[0].split(' ').at(-1) ?? '';
}

function prefixed(prefix: string, candidates: readonly Candidate[]): readonly Candidate[] {
  return candidates.map(({ value, meaning }) => ({ value: prefix + value, meaning }));
}

function splitLine(words: readonly string[]): Line {
  const plain: string[] = [];
  const options: string[] = [];
  let pending: string | null = null;
  for (const word of words) {
    if (pending !== null) {
      if (SERVICE_OPTIONS.has(pending)) options.push(`--${pending}=${word}`);
      pending = null;
    } else if (word.startsWith('-') && word !== '-') {
      const [name = '', value] = nameOf(word).split('=', 2);
      const takesValue = CTL_OPTIONS[name]?.type === 'string';
      if (takesValue && value === undefined) pending = name;
      else if (SERVICE_OPTIONS.has(name)) options.push(word);
    } else plain.push(word);
  }
  return { words: plain, options, pending };
}

/** The long name of an option, with its value after an equals sign if it has one. */
function nameOf(word: string): string {
  if (word.startsWith('--')) return word.slice(2);
  const long = Object.entries(CTL_OPTIONS).find(([, { short }]) => short === word.slice(1));
  return long?.[0] ?? '';
}
