/** Characters of one text. The text of a unit has at most 1 MiB. */
export const MAX_TEXT_CHARACTERS = 2 ** 20;
