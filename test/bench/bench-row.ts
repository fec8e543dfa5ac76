/** Options of a bench run. */
export interface BenchOptions {
  /** Measurements of each case; the median counts. */
  readonly rounds: number;
  /** Small inputs: proves that the bench works; its numbers mean nothing. */
  readonly quick: boolean;
  /** An empty directory for the files of the bench; the caller removes it. */
  readonly workDirectory: string;
}

/** The medians of one side of a comparison. */
export interface BenchPeer {
  readonly peer: string;
  readonly figures: Readonly<Record<string, number>>;
}

/** The result of one case. */
export interface BenchRow {
  readonly case: string;
  /** Median of the rounds. */
  readonly value: number;
  readonly unit: string;
  /** The bound that the value must meet, for readers. */
  readonly target: string;
  /** `null` when the case cannot be judged on this machine. */
  readonly pass: boolean | null;
  readonly rounds: readonly number[];
  readonly note: string;
  /** Rounds that stayed noisy after repeats; absent where single rounds are not watched. */
  readonly noisyRounds?: number;
  /** The medians of all sides, for programs. */
  readonly peers?: readonly BenchPeer[];
}

/** The export of every bench file. */
export interface BenchModule {
  run(options: BenchOptions): Promise<BenchRow[]>;
}
