import { formatChoice } from '../../../contract/formats/exchange-formats.ts';
import { textFields } from '../../../platform/terminal/text-table.ts';
import type { CtlCommand, CtlContext } from '../ctl-context.ts';
import type { CtlExit } from '../ctl-exits.ts';
import { textOption } from '../ctl-options.ts';
import { runJob } from '../job-commands.ts';
import { showTask } from '../task-watch.ts';
import { formatText, trustedBy } from './exchange-options.ts';
import { renderOutcome } from './outcome-view.ts';

const LANGUAGE_TEXTS: ReadonlyArray<readonly [string, string]> = [
  ['--source-language TAG', 'language of the source texts; default the configured one'],
  ['--target-language TAG', 'language of the translations; default the configured one'],
];

const TRUST_TEXTS: ReadonlyArray<readonly [string, string]> = [
  ['--trusted', 'takes the states of the file instead of candidates or drafts; needs the scope review'],
  ['--reviewer NAME', 'person who vouches for a trusted file'],
  ['--reason TEXT', 'reason to record in the histories'],
];
const WAIT_TEXT = ['--wait-timeout SECONDS', 'longest wait; the task keeps running after it'] as const;
const DRY_RUN_TEXT = ['--dry-run', 'shows what would happen, and changes nothing'] as const;
const EXCHANGE_TEXT = [
  '--exchange',
  'FILE is in the exchange folder of the daemon (exchange.root), and the daemon does the work; for many terms',
] as const;

/** The commands that import and export the Translation Memory and the Glossary. The readers of files load when they run. */
export const EXCHANGE_COMMANDS: readonly CtlCommand[] = [
  {
    name: 'memory import',
    synopsis: 'FILE',
    summary: `imports a ${formatChoice('memory')} file into the Translation Memory; FILE is in the exchange folder of the daemon (exchange.root), and the same file again changes nothing`,
    words: [1, 1],
    optionTexts: [formatText('memory'), ...TRUST_TEXTS, DRY_RUN_TEXT, ...LANGUAGE_TEXTS, WAIT_TEXT],
    run: async (context) => await runExchangeJob(context, 'memory-import'),
  },
  {
    name: 'memory export',
    synopsis: 'FILE',
    summary: `writes the Translation Memory to a ${formatChoice('memory')} file; FILE is in the exchange folder of the daemon (exchange.root)`,
    words: [1, 1],
    optionTexts: [
      formatText('memory'),
      ['--state STATES', 'states of the records, with commas; default trusted,candidate'],
      ...LANGUAGE_TEXTS,
      WAIT_TEXT,
    ],
    run: async (context) => await runExchangeJob(context, 'memory-export'),
  },
  {
    name: 'glossary import',
    synopsis: 'FILE',
    summary: `imports a local ${formatChoice('terms')} file into the Glossary; the same file again changes nothing`,
    words: [1, 1],
    optionTexts: [
      formatText('terms'),
      ...TRUST_TEXTS,
      DRY_RUN_TEXT,
      ...LANGUAGE_TEXTS,
      EXCHANGE_TEXT,
      WAIT_TEXT,
    ],
    run: async (context) =>
      context.args.values.exchange === true
        ? await runExchangeJob(context, 'glossary-import')
        : await (await import('./glossary-import.ts')).importGlossaryFile(context),
  },
  {
    name: 'glossary export',
    synopsis: 'FILE',
    summary: `writes the terms of the Glossary to a local ${formatChoice('terms')} file`,
    words: [1, 1],
    optionTexts: [
      formatText('terms'),
      ['--state STATES', 'states of the terms, with commas; default draft,approved,deprecated'],
      ['--force', 'replaces a file that exists'],
      ...LANGUAGE_TEXTS,
      EXCHANGE_TEXT,
      WAIT_TEXT,
    ],
    run: async (context) =>
      context.args.values.exchange === true
        ? await runExchangeJob(context, 'glossary-export')
        : await (await import('./glossary-export.ts')).exportGlossaryFile(context),
  },
];

async function runExchangeJob(context: CtlContext, action: string): Promise<CtlExit> {
  const { args, words } = context;
  const [file = ''] = words;
  const trusted = action.endsWith('-import') ? trustedBy(args) : null;
  const seen = await runJob(context, {
    group: 'i18n',
    action,
    args: jobArguments({
      file,
      format: textOption(args, 'format'),
      include: textOption(args, 'state'),
      source_language: textOption(args, 'source-language'),
      target_language: textOption(args, 'target-language'),
      dry_run: args.values['dry-run'] === true,
      trusted: trusted !== null,
      ...trusted,
    }),
  });
  return await showTask(context, seen, (result) => {
    const path = (result as { readonly path?: unknown }).path;
    const place =
      typeof path === 'string'
        ? `${path}, where the daemon runs`
        : `${file} in the folder exchange.root of the daemon`;
    const next: readonly (readonly [string, string])[] = action.endsWith('-export')
      ? [['next', 'copy the file from there to use it on this machine, for example with scp or kubectl cp']]
      : [];
    return textFields([['file', place], ...renderOutcome(result), ...next]);
  });
}

function jobArguments(values: Readonly<Record<string, string | boolean | undefined>>): readonly string[] {
  return Object.entries(values)
    .filter(([, value]) => value !== undefined && value !== false)
    .map(([key, value]) => `${key}=${String(value)}`);
}
