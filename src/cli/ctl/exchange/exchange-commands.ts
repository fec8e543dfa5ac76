import type { CtlCommand } from '../ctl-context.ts';
import { LANGUAGE_TEXTS, TRUST_TEXTS } from './exchange-options.ts';
import { runExchangeJob } from './exchange-job.ts';
import { exportGlossaryFile } from './glossary-export.ts';
import { importGlossaryFile } from './glossary-import.ts';

const WAIT_TEXT = ['--wait-timeout SECONDS', 'longest wait; the task keeps running after it'] as const;
const DRY_RUN_TEXT = ['--dry-run', 'says what would happen, and changes nothing'] as const;
const EXCHANGE_TEXT = [
  '--exchange',
  'FILE is in the exchange folder of the daemon (exchange.root), and the daemon does the work; for many terms',
] as const;
const LANGUAGES = ['source-language', 'target-language'] as const;
const TRUST = ['trusted', 'reviewer', 'reason', 'dry-run'] as const;

/** The commands that import and export the Translation Memory and the Glossary. */
export const EXCHANGE_COMMANDS: readonly CtlCommand[] = [
  {
    name: 'memory import',
    synopsis: 'FILE',
    summary:
      'imports a TMX or JSON lines file into the Translation Memory; FILE is in the exchange folder of the daemon (exchange.root), and the same file again changes nothing',
    words: [1, 1],
    options: ['format', ...TRUST, ...LANGUAGES, 'wait-timeout'],
    optionTexts: [
      ['--format tmx|jsonl', 'format of the file; default that of its ending'],
      ...TRUST_TEXTS,
      DRY_RUN_TEXT,
      ...LANGUAGE_TEXTS,
      WAIT_TEXT,
    ],
    run: async (context) => await runExchangeJob(context, 'memory-import'),
  },
  {
    name: 'memory export',
    synopsis: 'FILE',
    summary:
      'writes the Translation Memory to a TMX or JSON lines file; FILE is in the exchange folder of the daemon (exchange.root)',
    words: [1, 1],
    options: ['format', 'state', ...LANGUAGES, 'wait-timeout'],
    optionTexts: [
      ['--format tmx|jsonl', 'format of the file; default that of its ending'],
      ['--state STATES', 'states of the records, with commas; default trusted,candidate'],
      ...LANGUAGE_TEXTS,
      WAIT_TEXT,
    ],
    run: async (context) => await runExchangeJob(context, 'memory-export'),
  },
  {
    name: 'glossary import',
    synopsis: 'FILE',
    summary: 'imports a local TBX or CSV file into the Glossary; the same file again changes nothing',
    words: [1, 1],
    options: ['format', ...TRUST, ...LANGUAGES, 'exchange', 'wait-timeout'],
    optionTexts: [
      ['--format tbx|csv', 'format of the file; default that of its ending'],
      ...TRUST_TEXTS,
      DRY_RUN_TEXT,
      ...LANGUAGE_TEXTS,
      EXCHANGE_TEXT,
      WAIT_TEXT,
    ],
    run: async (context) =>
      context.args.values.exchange === true
        ? await runExchangeJob(context, 'glossary-import')
        : await importGlossaryFile(context),
  },
  {
    name: 'glossary export',
    synopsis: 'FILE',
    summary: 'writes the terms of the Glossary to a local TBX or CSV file',
    words: [1, 1],
    options: ['format', 'state', 'force', ...LANGUAGES, 'exchange', 'wait-timeout'],
    optionTexts: [
      ['--format tbx|csv', 'format of the file; default that of its ending'],
      ['--state STATES', 'states of the terms, with commas; default draft,approved,deprecated'],
      ['--force', 'replaces a file that exists'],
      ...LANGUAGE_TEXTS,
      EXCHANGE_TEXT,
      WAIT_TEXT,
    ],
    run: async (context) =>
      context.args.values.exchange === true
        ? await runExchangeJob(context, 'glossary-export')
        : await exportGlossaryFile(context),
  },
];
