import type { CtlCommand } from '../ctl-context.ts';
import { formatText } from '../exchange/exchange-options.ts';

const FORMAT_TEXT = formatText('units');
const REPORT_TEXT = (what: string): readonly [string, string] => [
  '--report FILE',
  `writes ${what} to this file, one JSON object a line`,
];

/** The commands for translators who work on files. Each loads its code when it runs: the readers of file formats are large. */
export const TRANSLATION_COMMANDS: readonly CtlCommand[] = [
  {
    name: 'translations export',
    synopsis:
      'FILE [--task ID | --destination GLOB] [--state NAMES] [--format NAME] [--copy-source yes|no] [--no-hints] [--force]',
    summary: 'writes text units and their translations to a file for translators',
    words: [1, 1],
    optionTexts: [
      ['--task ID', 'writes only the units of this translation task'],
      [
        '--destination GLOB',
        'writes only units of files whose path fits, for example "Table/**" (special: *, ** and ?)',
      ],
      ['--state NAMES', 'writes only units in these states, for example untranslated,stale'],
      FORMAT_TEXT,
      [
        '--copy-source yes|no',
        'writes a missing target as a copy of its source, which no import takes for a translation; for XLIFF, default yes for XLIFF 1.2, as OmegaT shows no unit without a target',
      ],
      ['--no-hints', 'does not ask the Glossary about every unit; faster'],
      ['--force', 'replaces a file that exists'],
    ],
    run: async (context) => await (await import('./export-command.ts')).runExport(context),
  },
  {
    name: 'translations import',
    synopsis: 'FILE [--status NAME] [--partial] [--dry-run] [--worker NAME] [--report FILE] [--format NAME]',
    summary: 'brings the translations of a file back; everything is checked before the first one is stored',
    words: [1, 1],
    optionTexts: [
      [
        '--status NAME',
        'in_progress stores drafts, also blocked ones; translated hands complete tasks to the review; default in_progress',
      ],
      ['--partial', 'stores the units without a problem when others have one'],
      ['--dry-run', 'checks everything and stores nothing'],
      ['--worker NAME', 'your name, if you have claimed units of the file'],
      REPORT_TEXT('what happened to every unit'),
      FORMAT_TEXT,
    ],
    run: async (context) => await (await import('./import-command.ts')).runImport(context),
  },
  {
    name: 'translations check',
    synopsis: 'FILE [--server] [--strict] [--report FILE] [--format NAME]',
    summary: 'checks the translations of a file; without --server no service is needed',
    words: [1, 1],
    optionTexts: [
      [
        '--server',
        'also compares the sources with the release, and asks for limits and the Glossary; stores nothing',
      ],
      ['--strict', 'also fails on warnings'],
      ['--source-language TAG', 'language of the sources; default that of the file, else ja'],
      ['--target-language TAG', 'language of the targets; default that of the file, else zh-Hans'],
      REPORT_TEXT('every finding'),
      FORMAT_TEXT,
    ],
    run: async (context) => await (await import('./check-command.ts')).runCheck(context),
  },
  {
    name: 'translations prompt',
    synopsis: 'TASK [--provider NAME]',
    summary: 'shows the first prompt that a run would send for a translation task; nothing is sent',
    words: [1, 1],
    optionTexts: [['--provider NAME', 'the provider; default that of runs that name none']],
    run: async (context) => await (await import('./prompt-command.ts')).runPrompt(context),
  },
  {
    name: 'translations set',
    synopsis: 'TEXT --unit ID [--dry-run]',
    summary:
      'stores the translation of one unit as a draft; what someone else stores meanwhile is not overwritten',
    words: [1, 1],
    optionTexts: [
      ['--unit ID', 'the text unit; translations search -o name lists ids'],
      ['--reason TEXT', 'reason to record in the history'],
      ['--dry-run', 'checks the translation and stores nothing'],
    ],
    run: async (context) => await (await import('./unit-commands.ts')).runSet(context),
  },
  {
    name: 'translations accept',
    synopsis:
      '--reviewer NAME [--task ID | --destination GLOB | --unit ID] [--reason TEXT] [--dry-run] [--yes] [--report FILE]',
    summary:
      'accepts translated and published tasks as a reviewer; one that is refused does not stop the others',
    optionTexts: [
      ['--reviewer NAME', 'your name, for the history'],
      ['--task ID', 'only this translation task'],
      ['--destination GLOB', 'only tasks of files whose path fits; default every task that waits'],
      ['--unit ID', 'only this text unit, as it is now'],
      ['--reason TEXT', 'reason to record in the history'],
      ['--dry-run', 'checks every task and accepts nothing'],
      ['-y, --yes', 'accepts without a question; needed where there is no terminal'],
      REPORT_TEXT('what happened to every task'),
    ],
    run: async (context) =>
      context.args.values.unit === undefined
        ? await (await import('./accept-command.ts')).runAccept(context)
        : await (await import('./unit-commands.ts')).runAcceptUnit(context),
  },
  {
    name: 'translations undo',
    synopsis:
      '[--run ID] [--author TOKEN] [--since TIME] [--task ID | --destination GLOB] [--dry-run] [--yes] [--report FILE]',
    summary: 'takes stored translations back, and restores those before them',
    optionTexts: [
      ['--run ID', 'translations of this run of a provider; an import prints its run'],
      ['--author TOKEN', 'translations that came with this token, by its id'],
      ['--since TIME', 'translations stored at this time or later, for example 2026-11-23T08:00:00Z'],
      ['--task ID', 'only units of this translation task'],
      ['--destination GLOB', 'only units of files whose path fits'],
      ['--dry-run', 'shows what would be undone'],
      ['-y, --yes', 'takes back without a question; needed where there is no terminal'],
      ['--reason TEXT', 'reason to record in the history'],
      REPORT_TEXT('what happened to every unit'),
    ],
    run: async (context) => await (await import('./undo-command.ts')).runUndo(context),
  },
];
