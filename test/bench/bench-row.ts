import { median } from './statistics.ts';

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

/** What a value must meet; without either, the row is a figure without a verdict. */
export interface Bound {
  readonly atLeast?: number;
  readonly atMost?: number;
}

/**
 * Makes a row whose value is the median of its rounds.
 *
 * @param judged `false` for small inputs and for runs that others disturbed
 */
export function benchRow({
  name,
  rounds,
  unit,
  bound = {},
  judged = true,
  note,
}: {
  readonly name: string;
  readonly rounds: readonly number[];
  readonly unit: string;
  readonly bound?: Bound;
  readonly judged?: boolean;
  readonly note: string;
}): BenchRow {
  const value = median(rounds);
  const { atLeast, atMost } = bound;
  const isBound = atLeast !== undefined || atMost !== undefined;
  const isMet = value >= (atLeast ?? -Infinity) && value <= (atMost ?? Infinity);
  return {
    case: name,
    value,
    unit,
    target: isBound ? (atLeast === undefined ? `<= ${atMost}` : `>= ${atLeast}`) : 'none',
    pass: isBound && judged ? isMet : null,
    rounds,
    note,
  };
}
