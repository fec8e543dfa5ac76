import { beginRound, isNoisy } from './noise.ts';
import { median } from './statistics.ts';

/** With fewer clean rounds than this there is no verdict. */
const FEWEST_CLEAN = 5;
/** Noisy rounds are repeated at most this often per case, so that a run ends. */
const MAX_REPEATS = 3;

/** One round: both sides measured one after the other. */
export interface Pair<T> {
  readonly ours: T;
  readonly theirs: T;
}

/** All rounds of one case. */
export interface PairedRounds<T> {
  /** The rounds that count: the clean ones, or all of them when too few are clean. */
  readonly pairs: readonly Pair<T>[];
  /** How many stayed noisy after the repeats. */
  readonly noisyRounds: number;
  /** Whether enough of them are clean for a verdict. */
  readonly isConclusive: boolean;
}

/** Options of paired rounds. */
export interface PairedRoundsOptions<T> {
  readonly rounds: number;
  /** Proves that the case works: no warm-up, no repeats, and no conclusive result. */
  readonly quick: boolean;
  readonly ours: () => Promise<T>;
  readonly theirs: () => Promise<T>;
}

/**
 * Measures two sides in turn, in reverse order in every second round, and repeats rounds in which others used the
 * machine.
 */
export async function runPairedRounds<T>(options: PairedRoundsOptions<T>): Promise<PairedRounds<T>> {
  const { rounds, quick } = options;
  const clean: Pair<T>[] = [];
  const noisy: Pair<T>[] = [];
  if (!quick) {
    await options.theirs();
    await options.ours();
  }
  const most = rounds + (quick ? 0 : MAX_REPEATS);
  for (let round = 0; clean.length < rounds && round < most; round += 1) {
    const noise = beginRound();
    const pair = await measurePair(options, round % 2 === 0);
    (isNoisy(noise.end()) ? noisy : clean).push(pair);
  }
  const isConclusive = !quick && clean.length >= FEWEST_CLEAN;
  return {
    pairs: isConclusive ? clean : [...clean, ...noisy],
    noisyRounds: Math.max(0, rounds - clean.length),
    isConclusive,
  };
}

/** The median of one figure of each side. */
export function medianOf<T>(
  pairs: readonly Pair<T>[],
  side: keyof Pair<T>,
  figure: (each: T) => number,
): number {
  return median(pairs.map((pair) => figure(pair[side])));
}

async function measurePair<T>(
  { ours, theirs }: PairedRoundsOptions<T>,
  theirsFirst: boolean,
): Promise<Pair<T>> {
  if (theirsFirst) {
    const first = await theirs();
    return { ours: await ours(), theirs: first };
  }
  const first = await ours();
  return { ours: first, theirs: await theirs() };
}
