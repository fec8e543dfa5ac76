/** Tells a history of states in words, for readers who do not see the ribbon; pure. */

import { count, duration } from '../text/format.ts';
import { runsOf } from './fold.ts';

export type ChartTone = 'ok' | 'warn' | 'bad' | 'info' | 'idle';

export interface StateWording {
  readonly tone: ChartTone;
  readonly text: string;
}

export interface Stretch<S> {
  /** `null` while nothing is known. */
  readonly state: S | null;
  /** Unix seconds. */
  readonly from: number;
  readonly to: number;
}

/**
 * Aligns the minutes of a history to a window that ends at its last minute; the time before the first one is unknown.
 *
 * @param states one for each minute, oldest first
 * @param minutes of the window
 */
export function windowOf<S>(states: readonly (S | null)[], minutes: number): readonly (S | null)[] {
  const kept = states.slice(-minutes);
  return [...new Array<null>(minutes - kept.length).fill(null), ...kept];
}

/** The stretches of equal states, oldest first. @param from of the first minute, Unix seconds */
export function stretchesOf<S>(states: readonly (S | null)[], from: number): readonly Stretch<S>[] {
  return runsOf(states).map((run) => ({
    state: run.value,
    from: from + run.from * 60,
    to: from + run.to * 60,
  }));
}

/** A sentence: how long each state lasted and how often it began, the worst first. */
export function summaryOf<S>(stretches: readonly Stretch<S>[], wording: (state: S) => StateWording): string {
  const sums = new Map<string, { seconds: number; times: number; tone: ChartTone }>();
  let unknown = 0;
  for (const { state, from, to } of stretches) {
    if (state === null) {
      unknown += to - from;
      continue;
    }
    const { text, tone } = wording(state);
    const sum = sums.get(text) ?? { seconds: 0, times: 0, tone };
    sums.set(text, { tone, seconds: sum.seconds + to - from, times: sum.times + 1 });
  }
  const told = [...sums]
    .sort(([, left], [, right]) => TONE_WEIGHTS[right.tone] - TONE_WEIGHTS[left.tone])
    .map(([text, { seconds, times }]) => {
      const often = times === 1 ? '' : `, ${count(times)} times`;
      return `${text} for ${duration(seconds)}${often}`;
    });
  const gap = unknown === 0 ? [] : [`no record for ${duration(unknown)}`];
  return [...told, ...gap].join('; ');
}

export const TONE_WEIGHTS: Readonly<Record<ChartTone, number>> = { idle: 0, ok: 1, info: 2, warn: 3, bad: 4 };
