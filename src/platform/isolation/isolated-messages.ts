/** Prepares what all jobs share, and returns the function that does one job. */
export type IsolatedProgram<Setup, Job, Piece, Result> = (
  setup: Setup,
) => (job: Job, context: JobContext<Piece>) => Result | Promise<Result>;

/** The surroundings of one job. */
interface JobContext<Piece> {
  /** A folder for temporary files; the job makes it when it needs it. It is removed after the end of the process. */
  readonly scratchDirectory: string;
  /** Sends a part of the result; it waits while the owner is behind. */
  readonly send: (piece: Piece) => Promise<void>;
}

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
