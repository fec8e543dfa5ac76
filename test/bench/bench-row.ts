/** How a bench is run. */
export interface BenchOptions {
  /** Measurements of each case; the median counts. */
  readonly rounds: number;
  /** Small inputs: proves that the bench works, its numbers mean nothing. */
  readonly quick: boolean;
  /** An empty directory for what the bench writes; the caller removes it. */
  readonly workDirectory: string;
}

/** What one side of a comparison did, medians of the rounds. */
export interface BenchPeer {
  readonly peer: string;
  readonly figures: Readonly<Record<string, number>>;
}

/** What one case gave. */
export interface BenchRow {
  readonly case: string;
  /** Median of the rounds. */
  readonly value: number;
  readonly unit: string;
  /** What it is held against, for people. */
  readonly target: string;
  /** `null` when the case cannot be judged on this machine. */
  readonly pass: boolean | null;
  readonly rounds: readonly number[];
  readonly note: string;
  /** Rounds that stayed noisy after repeats; absent where rounds are not watched one by one. */
  readonly noisyRounds?: number;
  /** All sides, for machines. */
  readonly peers?: readonly BenchPeer[];
}

/** What every bench file exports. */
export interface BenchModule {
  run(options: BenchOptions): Promise<BenchRow[]>;
}
