/** What a text is for, as a prompt says it. */
export const TEXT_KINDS = ['dialogue', 'button', 'name', 'item description', 'system message'] as const;

/** One of {@link TEXT_KINDS}. */
export type TextKind = (typeof TEXT_KINDS)[number];

interface TextPlace {
  readonly destination: string;
  readonly archiveEntry: string | null;
  readonly fieldPath: string;
  readonly speaker: string | null;
}

/** Words of fields and files, in their simplest form, and what they say about a text. */
const KINDS_OF_WORDS: ReadonlyMap<string, TextKind> = new Map(
  (
    [
      ['dialogue', 'dialog dialogue scenario story talk conversation voice script event episode'],
      ['button', 'button btn label menu tab ui caption'],
      ['name', 'name title nickname'],
      [
        'item description',
        'desc description detail details flavor flavour item items skill skills equipment',
      ],
      ['system message', 'message messages msg error errors notice system toast warning alert mail'],
    ] as const
  ).flatMap(([kind, words]) => words.split(' ').map((word) => [word, kind] as const)),
);

/**
 * Guesses the kind of a text: what its field says, then whether someone speaks it, then what its file says, the last folder first.
 *
 * @returns `null` when nothing tells
 */
export function guessTextKind({ destination, archiveEntry, fieldPath, speaker }: TextPlace): TextKind | null {
  const ofField = kindOfWords(fieldPath);
  if (speaker !== null && (ofField === null || ofField === 'system message')) return 'dialogue';
  return ofField ?? kindOfWords(archiveEntry ?? '') ?? kindOfWords(destination);
}

/** The kind that the last word with one names. `itemDesc`, `item_desc` and `ItemDesc` have two words each. */
function kindOfWords(path: string): TextKind | null {
  const words = path.split(/[^\p{L}]+|(?<=\p{Ll})(?=\p{Lu})/u);
  for (const word of words.toReversed()) {
    const kind = KINDS_OF_WORDS.get(word.toLowerCase());
    if (kind !== undefined) return kind;
  }
  return null;
}
