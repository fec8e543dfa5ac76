import type { JSX } from 'preact';
import { Curve, LINE_STEP, roomOfCurve } from './curve.tsx';
import { foldGreatest, foldMean } from './fold.ts';
import { placeValues } from './line-path.ts';
import type { ChartTone } from './state-summary.ts';
import { useWidth } from './use-width.ts';

const HEIGHT = 36;

/** The least and greatest of the known values, and the last one; `null` without any. */
interface Extent {
  readonly least: number;
  readonly greatest: number;
  readonly last: number;
}

/** Finds the extent of a list. */
export function extentOf(values: readonly (number | null)[]): Extent | null {
  const known = values.filter((value) => value !== null);
  const last = known.at(-1);
  if (last === undefined) return null;
  return {
    least: known.reduce((least, value) => Math.min(least, value), last),
    greatest: known.reduce((greatest, value) => Math.max(greatest, value), last),
    last,
  };
}

/** A line of values over time, with its least, greatest and last value. */
export function Sparkline(props: {
  readonly label: string;
  /** At equal distances, oldest first; `null` where nothing is known. */
  readonly values: readonly (number | null)[];
  readonly format: (value: number) => string;
  readonly fold?: 'mean' | 'greatest';
  readonly tone?: ChartTone;
  readonly span: string;
}): JSX.Element {
  const { label, values, format, fold = 'mean', tone = 'info', span } = props;
  const [box, width] = useWidth<HTMLDivElement>();
  const extent = extentOf(values);
  if (extent === null) {
    return (
      <figure class="chart sparkline">
        <div class="chart-box" ref={box} />
        <figcaption>{`${label}: no record yet`}</figcaption>
      </figure>
    );
  }
  const { least, greatest, last } = extent;
  const slots = Math.max(1, Math.floor(width / LINE_STEP));
  const folded = fold === 'mean' ? foldMean(values, slots) : foldGreatest(values, slots, (value) => value);
  const room = { width, height: HEIGHT };
  const parts = placeValues(folded, roomOfCurve(room), greatest);
  const summary = `lowest ${format(least)}, highest ${format(greatest)}`;
  return (
    <figure class={`chart sparkline ${tone}`}>
      <div class="chart-box" ref={box}>
        <Curve label={`${label}, ${span}: last ${format(last)}, ${summary}`} box={room} parts={parts} />
      </div>
      <figcaption aria-hidden="true">{`${summary} · ${span}`}</figcaption>
    </figure>
  );
}
