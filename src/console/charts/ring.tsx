import type { ComponentChildren, JSX } from 'preact';
import type { ChartTone } from './state-summary.ts';

const SIZE = 72;
const STROKE = 8;
const RADIUS = (SIZE - STROKE) / 2;
const ROUND = 2 * Math.PI * RADIUS;

/**
 * The share of a time that is left.
 *
 * @param from Unix seconds
 * @param to Unix seconds
 * @returns from 0 (over) to 1 (not begun)
 */
export function shareLeft(from: number, to: number, now: number): number {
  if (to <= from) return 0;
  return Math.min(1, Math.max(0, (to - now) / (to - from)));
}

/** A countdown: the part of a circle that is left, with a text in it. */
export function Ring({
  label,
  share,
  tone,
  children,
}: {
  readonly label: string;
  /** The rest, from 0 to 1. */
  readonly share: number;
  readonly tone: ChartTone;
  readonly children: ComponentChildren;
}): JSX.Element {
  const left = Math.min(1, Math.max(0, share)) * ROUND;
  return (
    <div class={`chart ring ${tone}`} role="img" aria-label={label}>
      <svg width={SIZE} height={SIZE} viewBox={`0 0 ${SIZE} ${SIZE}`} aria-hidden="true">
        <circle class="ring-track" cx={SIZE / 2} cy={SIZE / 2} r={RADIUS} stroke-width={STROKE} />
        <circle
          class="ring-left"
          cx={SIZE / 2}
          cy={SIZE / 2}
          r={RADIUS}
          stroke-width={STROKE}
          stroke-dasharray={`${left} ${ROUND}`}
          transform={`rotate(-90 ${SIZE / 2} ${SIZE / 2})`}
        />
      </svg>
      <span class="ring-text" aria-hidden="true">
        {children}
      </span>
    </div>
  );
}
