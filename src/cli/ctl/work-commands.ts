import { TRANSLATION_STATUSES } from '../../contract/schemas/vocabulary.ts';
import type { CtlCommand } from './ctl-context.ts';
import { CTL_EXITS, CtlFailure } from './ctl-exits.ts';
import { numberOption, textOption, type CtlArguments } from './ctl-options.ts';
import { given, show } from './reports.ts';
import { WATCH_TEXTS } from './watch.ts';
import {
  DEFAULT_UNITS,
  renderCoverage,
  renderHandoff,
  renderRecords,
  renderTerms,
  renderTranslationTasks,
  renderUnit,
} from './work-views.ts';
import { REVIEW_STATUSES } from '../../domain/glossary/term.ts';

const MAX_TASKS = 1000;
const DEFAULT_TASKS = 30;

const STATUS_NAMES = TRANSLATION_STATUSES.join(', ');

/** The commands that show the work on translations. */
export const WORK_COMMANDS: readonly CtlCommand[] = [
  {
    name: 'translations status',
    summary: 'shows how much of the official release is translated, and what blocks publishing it',
    optionTexts: WATCH_TEXTS,
    run: async (context) => {
      await show(context, 'translation.status', {}, { render: renderCoverage });
      return CTL_EXITS.ok;
    },
  },
  {
    name: 'translations handoff',
    summary: 'shows the work that can be sent to translators, and the units that are blocked',
    optionTexts: WATCH_TEXTS,
    run: async (context) => {
      await show(context, 'translation.handoff', {}, { render: renderHandoff });
      return CTL_EXITS.ok;
    },
  },
  {
    name: 'translations tasks',
    synopsis: '[--status NAME] [--destination GLOB] [--limit N] [--offset N]',
    summary: 'lists translation tasks, superseded tasks last',
    hasNames: true,
    optionTexts: [
      [`--status ${TRANSLATION_STATUSES.join('|')}`, 'shows only tasks with this status'],
      ['--destination GLOB', 'shows only tasks of files whose path fits (special: *, ** and ?)'],
      ['--limit N', `number of tasks; 1 to ${MAX_TASKS}, default ${DEFAULT_TASKS}`],
      ['--offset N', 'tasks to leave out before the first one; default 0'],
      ...WATCH_TEXTS,
    ],
    run: async (context) => {
      const { args } = context;
      const limit = numberOption(args, 'limit', { min: 1, max: MAX_TASKS, fallback: DEFAULT_TASKS });
      const offset = numberOption(args, 'offset', { min: 0, max: Number.MAX_SAFE_INTEGER, fallback: 0 });
      const query = given({
        status: statusOption(args),
        destination: textOption(args, 'destination'),
        limit: String(limit),
        offset: String(offset),
      });
      await show(context, 'translation.tasks', query, {
        render: renderTranslationTasks,
        names: ({ items }) => items.map(({ task_id: id }) => id),
      });
      return CTL_EXITS.ok;
    },
  },
  {
    name: 'translations search',
    synopsis:
      '[TEXT] [--in source|target] [--state NAMES] [--speaker NAME] [--author WHO] [--destination GLOB] [--same source|target] [--limit N]',
    summary: 'finds text units by a part of their source or translation, in upper or lower case',
    hasNames: true,
    words: [0, 1],
    optionTexts: [
      ['--in source|target', 'looks for TEXT in sources or in translations only'],
      ['--state NAMES', 'only units in these states, for example untranslated,stale'],
      ['--speaker NAME', 'only units of exactly this speaker'],
      [
        '--author WHO',
        'only units whose translation comes from this token, by its id, from this provider, or from a machine, person, import or memory',
      ],
      ['--destination GLOB', 'only units of files whose path fits (special: *, ** and ?)'],
      [
        '--same source|target',
        'instead of TEXT: units with one source and several translations, or with several sources and one translation',
      ],
      ['--limit N', `most units to show; default ${DEFAULT_UNITS}`],
    ],
    run: async (context) => await (await import('./translations/search-command.ts')).runSearch(context),
  },
  {
    name: 'translations unit',
    synopsis: 'DESTINATION FIELD_PATH [ARCHIVE_ENTRY]',
    summary: 'shows one text unit with its translation, its findings and its history',
    words: [2, 3],
    run: async (context) => {
      const [destination, field_path, archive_entry] = context.words;
      const query = given({ destination, field_path, archive_entry });
      const report = await show(context, 'parse.text_units', query, { render: renderUnit });
      return report.items.length === 0 ? CTL_EXITS.failed : CTL_EXITS.ok;
    },
  },
  {
    name: 'glossary list',
    synopsis: '[TEXT] [--status NAME] [--limit N]',
    summary: 'lists terms of the Glossary, all or those with TEXT in their source term or an alias',
    hasNames: true,
    words: [0, 1],
    optionTexts: [
      [`--status ${REVIEW_STATUSES.join('|')}`, 'only terms in this state'],
      ['--limit N', `most terms to show; 1 to ${MAX_TASKS}, default ${DEFAULT_UNITS}`],
    ],
    run: async (context) => {
      const query = given({
        source_text: context.words[0],
        review_status: textOption(context.args, 'status'),
        limit: limitOption(context.args),
      });
      await show(context, 'translation.glossary.query', query, {
        render: renderTerms,
        names: ({ items }) => items.map(({ term_id: id }) => id),
      });
      return CTL_EXITS.ok;
    },
  },
  {
    name: 'memory search',
    synopsis: 'TEXT [--limit N]',
    summary: 'finds records of the Translation Memory with TEXT in their source or target',
    hasNames: true,
    words: [1, 1],
    optionTexts: [['--limit N', `most records to show; 1 to ${MAX_TASKS}, default ${DEFAULT_UNITS}`]],
    run: async (context) => {
      const [source_text = ''] = context.words;
      const source_context = JSON.stringify({ mode: 'concordance' });
      const query = { source_text, source_context, limit: limitOption(context.args) };
      await show(context, 'translation.memory.query', query, {
        render: renderRecords,
        names: ({ matches }) => matches.map(({ record }) => record.record_id),
      });
      return CTL_EXITS.ok;
    },
  },
];

function limitOption(args: CtlArguments): string {
  return String(numberOption(args, 'limit', { min: 1, max: MAX_TASKS, fallback: DEFAULT_UNITS }));
}

/** The service takes any text as a status and finds nothing, so the command refuses one that no task has. */
function statusOption(args: CtlArguments): string | undefined {
  const status = textOption(args, 'status');
  if (status === undefined || TRANSLATION_STATUSES.some((each) => each === status)) return status;
  throw new CtlFailure(CTL_EXITS.usage, `--status must be one of ${STATUS_NAMES}, not ${status}`);
}
