import type { ActionDefinition, FieldChoice } from '../../../contract/actions/action-definition.ts';
import { actionDefinition, type ControlAction } from '../../../contract/actions/actions.ts';
import { HELP_WIDTH, helpColumns, wrapText } from '../../../platform/terminal/help-columns.ts';
import { argumentOption, fieldTexts } from './field-texts.ts';

const CHOICE_TEXTS: Readonly<Record<FieldChoice['rule'], string>> = {
  one: 'exactly one of',
  some: 'at least one of',
  exclusive: 'at most one of',
};

/**
 * The help of one action, from its contract.
 *
 * @param program such as `slipway ctl`
 * @param optionTexts help for the options of `run`
 */
export function renderActionHelp(
  program: string,
  action: ControlAction,
  optionTexts: ReadonlyArray<readonly [string, string]>,
): string {
  const definition = actionDefinition(action);
  // The options of the command have the dry run of every action.
  const own = fieldTexts(definition).filter(({ name }) => name !== 'args=dry_run');
  const fields = own.map(({ name, value, meaning, isRequired }): [string, string] => [
    optionOf(name, value),
    `${isRequired ? '(required) ' : ''}${meaning}`,
  ]);
  const choices = definition.choices.map(({ rule, fields: names }) =>
    wrapText(`Give ${CHOICE_TEXTS[rule]} ${names.join(', ')}.`, HELP_WIDTH).join('\n'),
  );
  return [
    `Usage: ${program} run ${action} [field=value ...] [OPTIONS]\n`,
    `${wrapText(definition.summary.replaceAll('`', ''), HELP_WIDTH).join('\n')}\n`,
    `${factsOf(definition).join('\n')}\n`,
    `Fields:\n${helpColumns(fields)}${choices.map((text) => `\n${text}\n`).join('')}`,
    `Options:\n${helpColumns(optionTexts)}`,
    `docs/reference/actions.md has the errors. ${program} --help lists the options of every command.\n`,
  ].join('\n');
}

/** An entry of `args` is an option. */
function optionOf(name: string, value: string): string {
  const option = argumentOption(name);
  if (option === null) return `${name}=${value}`;
  return value === 'true|false' ? `--${option}` : `--${option} ${value}`;
}

function factsOf({ mode, scope, destructive, hasDryRun }: ActionDefinition): readonly string[] {
  const modes = {
    inline: 'It is done when it is answered.',
    queued: 'It becomes a task; --wait waits until the task has ended.',
    'inline or queued': 'It is done when it is answered, or becomes a task; --wait waits for the task.',
  } as const;
  const scopes =
    scope === 'named'
      ? 'The token needs the scope of the job that the body names.'
      : `The token needs the scope ${scope}.`;
  return [
    ...wrapText(`${modes[mode]} ${scopes}`, HELP_WIDTH),
    ...(destructive
      ? ['It is destructive: it shows its effect and asks before it starts; --yes skips the question.']
      : []),
    ...(hasDryRun === true
      ? ['With --dry-run the daemon shows what would happen, and changes nothing.']
      : []),
  ];
}
