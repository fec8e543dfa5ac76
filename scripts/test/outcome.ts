/** How a stage ended. */
export interface Outcome {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** User and system time of the programs of the stage. */
  readonly processorSeconds?: number;
  /** Each failed test with the beginning of its message; printed again at the end of the run. */
  readonly failures?: readonly string[];
  /** The title of each skipped test, with its file. */
  readonly skips?: readonly string[];
  /** The test files that ran. */
  readonly files?: readonly TestFile[];
}

/** A test file and how long it ran, with its set-up. */
export interface TestFile {
  readonly path: string;
  readonly seconds: number;
  /** That of its process and of the programs that it started; missing where the system does not tell it. */
  readonly processorSeconds?: number;
}
