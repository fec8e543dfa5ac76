import type { JSX } from 'preact';
import { duration } from '../text/format.ts';
import { Curve, LINE_STEP, roomOfCurve } from './curve.tsx';
import { foldMean } from './fold.ts';
import { placeValues } from './line-path.ts';
import { meanRate, speedsOf, type ProgressSample, type Speed } from './throughput.ts';
import { useWidth } from './use-width.ts';

const HEIGHT = 64;
const LEAST_SECONDS = 1;
const COLUMNS = 240;

/**
 * The speed at equal distances of time, so that a slow stretch takes its room.
 *
 * @returns `null` where no speed is known; empty without speeds
 */
export function evenRates(speeds: readonly Speed[], columns = COLUMNS): readonly (number | null)[] {
  const [first, last] = [speeds[0], speeds.at(-1)];
  if (first === undefined || last === undefined) return [];
  const step = (last.to - first.from) / columns;
  let index = 0;
  return Array.from({ length: columns }, (_, column) => {
    const at = first.from + (column + 0.5) * step;
    while (index < speeds.length - 1 && (speeds[index]?.to ?? 0) < at) index += 1;
    const speed = speeds[index];
    return speed !== undefined && speed.from <= at && at <= speed.to ? speed.rate : null;
  });
}

interface ThroughputProps {
  readonly label: string;
  readonly format: (rate: number) => string;
}

/** The speed of a task over its time; nothing before two samples are there. */
export function ThroughputCurve({
  samples,
  ...props
}: ThroughputProps & { readonly samples: readonly ProgressSample[] }): JSX.Element | null {
  const speeds = speedsOf(samples);
  const [first, last] = [speeds[0], speeds.at(-1)];
  // A moment has no course.
  if (first === undefined || last === undefined || last.to - first.from < LEAST_SECONDS) return null;
  // A component of its own, so that its box is there when its width is measured.
  return <SpeedCurve {...props} speeds={speeds} seconds={last.to - first.from} />;
}

function SpeedCurve({
  label,
  format,
  speeds,
  seconds,
}: ThroughputProps & { readonly speeds: readonly Speed[]; readonly seconds: number }) {
  const [box, width] = useWidth<HTMLDivElement>();
  const greatest = speeds.reduce((most, { rate }) => Math.max(most, rate), 0);
  const mean = meanRate(speeds, Infinity) ?? 0;
  const rates = foldMean(evenRates(speeds), width / LINE_STEP);
  const room = { width, height: HEIGHT };
  const parts = placeValues(rates, roomOfCurve(room), greatest);
  const summary = `mean ${format(mean)}, highest ${format(greatest)}, over ${duration(seconds)}`;
  return (
    <figure class="chart throughput info">
      <div class="chart-box" ref={box}>
        <Curve label={`${label}: ${summary}`} box={room} parts={parts} />
      </div>
      <figcaption aria-hidden="true">{summary}</figcaption>
    </figure>
  );
}
