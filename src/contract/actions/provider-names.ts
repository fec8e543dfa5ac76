/** The provider of targets that come from a file. Their author is counted as `import`. */
export const FILE_PROVIDER = 'file';

/** The provider of targets that come back because someone took later ones back. Their author is a person. */
export const UNDO_PROVIDER = 'undo';

/** The provider of targets in which a person has replaced a text. Their author is that person, and the run names what undoes them. */
export const REPLACE_PROVIDER = 'replace';

/** The names that mark work without a provider, with the kind of its author. No provider may have one. */
export const NAMES_WITHOUT_PROVIDER: ReadonlyMap<string, 'import' | 'person'> = new Map([
  [FILE_PROVIDER, 'import'],
  [UNDO_PROVIDER, 'person'],
  [REPLACE_PROVIDER, 'person'],
]);
