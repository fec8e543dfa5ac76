import { actionDefinition, CONTROL_ACTIONS, type ControlAction } from '../../../contract/actions/actions.ts';
import type { ActionDefinition } from '../../../contract/actions/action-definition.ts';
import type { LocalCommand } from '../ctl-context.ts';
import { CTL_EXITS } from '../ctl-exits.ts';
import { printItems } from '../output/print-answer.ts';
import type { Column } from '../output/view.ts';

interface ListedAction extends Omit<ActionDefinition, 'fields'> {
  readonly action: ControlAction;
}

const COLUMNS: ReadonlyArray<Column<ListedAction>> = [
  { title: 'ACTION', cell: ({ action }) => action },
  { title: 'DESTRUCTIVE', cell: ({ destructive }) => (destructive ? 'yes' : '-') },
  { title: 'MODE', cell: ({ mode }) => mode, wide: true },
  { title: 'SCOPE', cell: ({ scope }) => scope, wide: true },
  { title: 'DRY RUN', cell: ({ hasDryRun }) => (hasDryRun === true ? 'yes' : '-'), wide: true },
  { title: 'NEEDS', cell: ({ required }) => required.join(' ') || '-', wide: true },
  { title: 'SUMMARY', cell: ({ summary }) => summary.replaceAll('`', '') },
];

/** `actions` */
export const ACTIONS_COMMAND: LocalCommand = {
  name: 'actions',
  synopsis: '',
  summary: 'lists the actions that run starts; run ACTION --help shows the fields of one',
  words: [0, 0],
  options: [],
  optionTexts: [],
  hasNames: true,
  isLocal: true,
  run: async (context) => {
    const actions = CONTROL_ACTIONS.map((action): ListedAction => {
      const { fields: _schemas, ...facts } = actionDefinition(action);
      return { action, ...facts };
    });
    await printItems(context, actions, COLUMNS, ({ action }) => action);
    return CTL_EXITS.ok;
  },
};
