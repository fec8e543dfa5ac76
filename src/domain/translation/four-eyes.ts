/** The author of a target, as far as tokens tell. */
export interface TargetAuthor {
  readonly kind: 'machine' | 'person' | 'import' | 'memory';
  /** The token that sent the target; `null` for one without an id. */
  readonly tokenId: string | null;
}

/**
 * Whether the four-eyes rule forbids that a token accepts a target: it is the author's own. All tokens without an id count as
 * one. A machine or the memory without a token has no author.
 */
export function isOwnWork({ kind, tokenId }: TargetAuthor, reviewerTokenId: string | null): boolean {
  if (tokenId === null && (kind === 'machine' || kind === 'memory')) return false;
  return tokenId === reviewerTokenId;
}
