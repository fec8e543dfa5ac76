export interface TargetAuthor {
  readonly kind: 'machine' | 'person' | 'import' | 'memory';
  /**
   * The token that sent the target; `null` for one without an id. A target of the memory has the token of its record, when that is
   * the work of one token alone.
   */
  readonly tokenId: string | null;
}

/**
 * Whether the four-eyes rule forbids that a token accepts a target: it is the author's own. All tokens without an id count as
 * one. A machine or the memory without a token has no author.
 */
export function isOwnWork(author: TargetAuthor, reviewerTokenId: string | null): boolean {
  return !isWithoutAuthor(author) && author.tokenId === reviewerTokenId;
}

/**
 * The token that alone wrote and confirmed a record: a target from this record is its own work. Otherwise a token could accept its own
 * text after a way through the memory.
 *
 * @returns `null` when another token confirmed the record, or when no token wrote it
 */
export function soleTokenOf({
  author,
  confirmedBy,
}: {
  /** The author of the record; `null` when nobody knows it. */
  readonly author: TargetAuthor | null;
  readonly confirmedBy: readonly string[];
}): string | null {
  if (author !== null && isWithoutAuthor(author)) return null;
  const tokens = new Set([...(author === null ? [] : [author.tokenId]), ...confirmedBy]);
  const [token = null] = tokens;
  return tokens.size === 1 ? token : null;
}

function isWithoutAuthor({ kind, tokenId }: TargetAuthor): boolean {
  return tokenId === null && (kind === 'machine' || kind === 'memory');
}
