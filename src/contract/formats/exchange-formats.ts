/** A format of the files that people and the service exchange. */
interface ExchangeFormat {
  /** For people. */
  readonly title: string;
  /** What the names of its files end with; the first one is written. Of two formats with one ending, the first has it. */
  readonly endings: readonly [string, ...string[]];
  /** The programs that it is for. */
  readonly use: string;
  /** What it can and cannot carry. */
  readonly carries: string;
}

/** The formats of exchange, by what they hold: the only list of them. */
export const EXCHANGE_FORMATS = {
  units: {
    'xliff-1.2': {
      title: 'XLIFF 1.2',
      endings: ['xlf', 'xliff'],
      use: 'OmegaT, Poedit, memoQ',
      carries: 'every text; a character that XML cannot carry is a `<ph ctype="x-code-point">`',
    },
    'xliff-2.1': {
      title: 'XLIFF 2.1',
      endings: ['xlf'],
      use: 'programs that read the newer standard',
      carries: 'every text; a character that XML cannot carry is a `<cp>`',
    },
    xlsx: {
      title: 'XLSX',
      endings: ['xlsx', 'xlsm'],
      use: 'Excel, LibreOffice, Google Sheets',
      carries:
        'texts of at most 32,767 characters, without NUL and lone surrogates; an empty cell is a missing text',
    },
    po: {
      title: 'PO',
      endings: ['po', 'pot'],
      use: 'Poedit, Weblate, translate-toolkit',
      carries: 'every text without NUL and lone surrogates; an empty text is a missing one',
    },
    csv: {
      title: 'CSV',
      endings: ['csv'],
      use: 'spreadsheets, scripts',
      carries: 'every text without NUL and lone surrogates; an empty cell is a missing text',
    },
    jsonl: { title: 'JSON lines', endings: ['jsonl'], use: 'scripts', carries: 'every text' },
  },
  terms: {
    tbx: {
      title: 'TBX',
      endings: ['tbx'],
      use: 'terminology programs',
      carries: 'every term without characters that XML cannot carry; no rejected terms',
    },
    csv: {
      title: 'CSV',
      endings: ['csv'],
      use: 'spreadsheets, scripts',
      carries: 'every text without NUL and lone surrogates',
    },
  },
  memory: {
    tmx: {
      title: 'TMX',
      endings: ['tmx'],
      use: 'translation programs',
      carries: 'every record without characters that XML cannot carry',
    },
    jsonl: { title: 'JSON lines', endings: ['jsonl'], use: 'scripts', carries: 'every text' },
  },
} as const satisfies Record<string, Record<string, ExchangeFormat>>;

/** Formats of units that can carry a copy of the source in place of a missing target. */
export const COPYING_FORMATS: readonly FormatName<'units'>[] = ['xliff-1.2', 'xliff-2.1'];

/** What files of exchange hold. */
export type ExchangedKind = keyof typeof EXCHANGE_FORMATS;
export type FormatName<Kind extends ExchangedKind> = keyof (typeof EXCHANGE_FORMATS)[Kind] & string;

/** The names of the formats of a kind, the default one first. */
export function formatNames<Kind extends ExchangedKind>(
  kind: Kind,
): readonly [FormatName<Kind>, ...FormatName<Kind>[]] {
  return Object.keys(EXCHANGE_FORMATS[kind]) as [FormatName<Kind>, ...FormatName<Kind>[]];
}

/** The formats of a kind as a choice in a sentence, such as "TBX or CSV". */
export function formatChoice(kind: ExchangedKind): string {
  return choiceOf(formatsOf(kind).map(([, { title }]) => title));
}

/** The endings of the files of a kind as a choice in a sentence, such as ".tbx or .csv". */
export function endingChoice(kind: ExchangedKind): string {
  const endings = new Set(formatsOf(kind).flatMap(([, format]) => format.endings));
  return choiceOf([...endings].map((ending) => `.${ending}`));
}

/**
 * The format of a file: the one that is given, else the one that the file's name ends with.
 *
 * @returns `null` for a format that the kind does not have, and for another ending
 */
export function formatOfFile<Kind extends ExchangedKind>(
  kind: Kind,
  name: string,
  given?: string,
): FormatName<Kind> | null {
  const ending = endingOf(name);
  const found = formatsOf(kind).find(([format, { endings }]) =>
    given === undefined ? endings.includes(ending) : format === given,
  );
  return (found?.[0] ?? null) as FormatName<Kind> | null;
}

/** The ending of the name of a file in lower case, without its dot; empty without one. */
export function endingOf(name: string): string {
  const dot = name.lastIndexOf('.');
  return dot === -1 ? '' : name.slice(dot + 1).toLowerCase();
}

function formatsOf(kind: ExchangedKind): readonly (readonly [string, ExchangeFormat])[] {
  return Object.entries(EXCHANGE_FORMATS[kind]);
}

function choiceOf(words: readonly string[]): string {
  const last = words.at(-1) ?? '';
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} or ${last}`;
}
