/** What a file says about the use of one wording. The first one of several counts. */
const STANDINGS = ['unwanted', 'unknown', 'preferred', 'admitted', 'unmarked'] as const;

export type TermStanding = (typeof STANDINGS)[number];

/**
 * The values of the data categories of states, as {@link wordOf} gives them. Source: ISO 30042:2008 (TBX), default XCS;
 * ISO 30042:2019, TBX-Basic and TBX-Min; the exports of Weblate, IATE and MultiTerm.
 */
const VALUES: ReadonlyMap<string, TermStanding> = new Map([
  ...['preferred', 'recommended'].map((word) => [word, 'preferred'] as const),
  ...['admitted', 'allowed', 'accepted', 'acceptable', 'approved', 'standardized', 'legal', 'regulated'].map(
    (word) => [word, 'admitted'] as const,
  ),
  ...[
    'deprecated',
    'superseded',
    'obsolete',
    'forbidden',
    'prohibited',
    'notrecommended',
    'notpreferred',
    'notadmitted',
    'notallowed',
    'rejected',
    'donotuse',
    'nonstandardized',
  ].map((word) => [word, 'unwanted'] as const),
]);

/** Data categories whose every value is a state of the wording, as {@link wordOf} gives them. */
const CATEGORIES = new Set(['administrativestatus', 'normativeauthorization', 'termstatus', 'usagestatus']);
/** Data categories that also have states of the work on an entry: only those that forbid a wording count. */
const OTHER_CATEGORIES = new Set(['status', 'languageplanningqualifier']);

/** Whether a data category can have the state of a wording, however it is spelled. */
export function isStatusCategory(type: string): boolean {
  const category = wordOf(type);
  return CATEGORIES.has(category) || OTHER_CATEGORIES.has(category);
}

/**
 * What the value of a data category says about a wording. Case, blanks, line breaks and marks do not count, nor does the ending
 * `Term-admn-sts` of the standard.
 *
 * @param type a data category of {@link isStatusCategory}
 */
export function standingOf(type: string, value: string): TermStanding {
  const word = wordOf(value);
  if (word === '') return 'unmarked';
  const standing = VALUES.get(word.replace(/admnsts$/, '').replace(/terms?$/, '')) ?? 'unknown';
  return CATEGORIES.has(wordOf(type)) || standing === 'unwanted' ? standing : 'unmarked';
}

/** The standing that several states together give. */
export function combinedStanding(standings: readonly TermStanding[]): TermStanding {
  return STANDINGS.find((each) => standings.includes(each)) ?? 'unmarked';
}

/** The letters of a name: letters of other scripts stay, so that a state in another language is unknown rather than none. */
function wordOf(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '');
}
