/** A message to an isolated process. */
export type IsolatedRequest<Setup, Job> =
  /** The setup of all jobs; it comes before the first one. */
  | { readonly kind: 'setup'; readonly setup: Setup }
  | { readonly kind: 'job'; readonly job: Job; readonly scratchDirectory: string }
  /** One piece is stored. */
  | { readonly kind: 'continue' };

/** A message from an isolated process. */
export type IsolatedAnswer<Piece, Result> =
  /** A part of the result, sent before the job is done. */
  { readonly kind: 'piece'; readonly piece: Piece } | { readonly kind: 'done'; readonly result: Result };

/** Most pieces that are sent and not stored. With two, one is stored while the next one is made. */
export const MAX_UNSTORED = 2;
