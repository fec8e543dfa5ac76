import type { JudgedBy } from './judged-by.ts';
import type {
  BegunReview,
  FileReviewBy,
  ImportDone,
  JudgedRow,
  RefusedContainers,
  ReviewDone,
  ReviewLine,
  ReviewPage,
  ReviewPlace,
  StagedLine,
  TaskReview,
} from './review.ts';
import type { CheckName, CheckPlace } from './check-cursor.ts';
import type { Reviews } from './reviewer.ts';
import type { CheckDone, ConsistencyPart, TranslatedTasksQuery } from './task-check.ts';
import type { UpdateRefusal } from './task-update.ts';

/** The functions of the thread that reviews use. */
export interface ReviewCalls {
  /** Says whether a review could be made, its findings aside, and collects its targets. */
  beginReview(review: TaskReview): BegunReview | UpdateRefusal;
  beginFileReview(argument: null): BegunReview;
  /** Collects rows of a file. @returns an outcome for each */
  stageLines(batch: {
    readonly reviewId: string;
    readonly lines: readonly ReviewLine[];
  }): readonly StagedLine[];
  /** Refuses containers of a file. */
  excludeContainers(request: { readonly reviewId: string; readonly refused: RefusedContainers }): void;
  /** The next collected targets; `null` at the end. */
  reviewPage(query: { readonly reviewId: string; readonly after: ReviewPlace | null }): ReviewPage | null;
  storeReviewJudgements(batch: {
    readonly reviewId: string;
    readonly taskSeq: number;
    readonly by: JudgedBy;
    readonly rows: readonly JudgedRow[];
  }): void;
  /** Makes a review, all or nothing. */
  applyReview(request: {
    readonly reviewId: string;
    readonly review: TaskReview;
  }): ReviewDone | UpdateRefusal;
  /** Accepts the rows of a file. */
  applyFileReview(request: { readonly reviewId: string; readonly by: FileReviewBy }): ImportDone;
  /** The tasks that are translated, after a place and up to another one. */
  translatedTasks(query: TranslatedTasksQuery): readonly number[];
  /** The last task that a check has finished; -1 before the first. */
  checkCursor(name: CheckName): CheckPlace;
  setCheckCursor(cursor: { readonly name: CheckName; readonly place: CheckPlace }): void;
  /** Collects the targets of a task to be judged again. */
  beginCheck(taskSeq: number): BegunReview;
  /** Stores the judgements of a check, without accepting anything. */
  applyCheck(reviewId: string): CheckDone;
  /** Compares the targets of equal sources, part by part. */
  compareTargets(after: Uint8Array | null): ConsistencyPart;
  /** Forgets what a review has collected. */
  endReview(reviewId: string): void;
}

/**
 * Creates the functions.
 *
 * @param use gives the reviews of the open database
 * @param now Unix seconds
 */
export function createReviewCalls(
  use: <T>(call: (reviews: Reviews) => T) => T,
  now: () => number,
): ReviewCalls {
  return {
    beginReview: (review) => use(({ reviewer }) => reviewer.begin(review)),
    beginFileReview: () => use(({ reviewer }) => reviewer.beginFile()),
    stageLines: ({ reviewId, lines }) => use(({ reviewer }) => reviewer.stage(reviewId, lines)),
    excludeContainers: ({ reviewId, refused }) => {
      use(({ reviewer }) => {
        reviewer.exclude(reviewId, refused);
      });
    },
    reviewPage: ({ reviewId, after }) => use(({ reviewer }) => reviewer.page(reviewId, after)),
    storeReviewJudgements: ({ reviewId, taskSeq, by, rows }) => {
      use(({ reviewer }) => {
        reviewer.storeJudgements(reviewId, taskSeq, by, rows);
      });
    },
    applyReview: ({ reviewId, review }) => use(({ reviewer }) => reviewer.apply(reviewId, review, now())),
    applyFileReview: ({ reviewId, by }) => use(({ reviewer }) => reviewer.applyFile(reviewId, by, now())),
    translatedTasks: (query) => use(({ check }) => check.translatedTasks(query)),
    checkCursor: (name) => use(({ check }) => check.cursor.get(name)),
    setCheckCursor: ({ name, place }) => {
      use(({ check }) => {
        check.cursor.set(name, place);
      });
    },
    beginCheck: (taskSeq) => use(({ check }) => check.begin(taskSeq)),
    applyCheck: (reviewId) => use(({ check }) => check.apply(reviewId, now())),
    compareTargets: (after) => use(({ check }) => check.compare(after)),
    endReview: (reviewId) => {
      use(({ reviewer }) => {
        reviewer.end(reviewId);
      });
    },
  };
}
