import type { JSX } from 'preact';
import { absolute, duration, utc } from '../text/format.ts';
import { foldGreatest, ranges, runsOf } from './fold.ts';
import {
  summaryOf,
  stretchesOf,
  TONE_WEIGHTS,
  windowOf,
  type StateWording,
  type Stretch,
} from './state-summary.ts';
import { hourTicks } from './time-ticks.ts';
import { useWidth } from './use-width.ts';

const DAY_MINUTES = 1440;
/** Narrower columns cannot be seen, pixels. */
const COLUMN = 2;
const BAND = 14;
const AXIS = 16;
/** Room of a label of the axis, pixels. */
const LABEL_WIDTH = 64;
/** A label that begins nearer to the right edge than this would be cut, pixels. */
const LABEL_ROOM = 36;
const TABLE_ROWS = 50;
/** The height also shows the state, for readers who do not distinguish colours. */
const HEIGHTS = { idle: 3, ok: 7, info: 5, warn: 10, bad: 14 } as const;

interface RibbonProps<S> {
  readonly label: string;
  /** One for each minute, oldest first; `null` for a minute without a record. */
  readonly states: readonly (S | null)[];
  /** Of the first minute, Unix seconds. */
  readonly from: number;
  readonly wording: (state: S) => StateWording;
}

/** The states of the last 24 hours. A column shows the worst state of its minutes, so that a short outage is seen. */
export function Ribbon<S>({ label, states, from, wording }: RibbonProps<S>): JSX.Element {
  const [box, width] = useWidth<HTMLDivElement>();
  const to = from + states.length * 60;
  const begin = to - DAY_MINUTES * 60;
  const minutes = windowOf(states, DAY_MINUTES);
  const stretches = stretchesOf(minutes, begin);
  const story = summaryOf(stretches, wording);
  return (
    <figure class="chart ribbon">
      <figcaption>
        <span class="chart-label">{label}</span>
      </figcaption>
      <div class="chart-box" ref={box}>
        <svg role="img" aria-label={`${label}, last 24 hours: ${story}`} height={BAND + AXIS} width={width}>
          {width === 0 ? null : (
            <>
              <Band minutes={minutes} begin={begin} width={width} wording={wording} />
              <HourAxis from={begin} to={to} width={width} y={BAND} />
            </>
          )}
        </svg>
      </div>
      <Stretches label={label} stretches={stretches} wording={wording} />
    </figure>
  );
}

function Band<S>({
  minutes,
  begin,
  width,
  wording,
}: {
  readonly minutes: readonly (S | null)[];
  readonly begin: number;
  readonly width: number;
  readonly wording: (state: S) => StateWording;
}) {
  const slots = ranges(minutes.length, width / COLUMN);
  const columns = foldGreatest(minutes, slots.length, (state) => TONE_WEIGHTS[wording(state).tone]);
  const column = width / Math.max(1, columns.length);
  return (
    <>
      {runsOf(columns).map(({ value, from, to }) => {
        const { tone, text } = value === null ? NO_RECORD : wording(value);
        const height = value === null ? 2 : HEIGHTS[tone];
        const [start, end] = [slots[from]?.from ?? 0, slots[to - 1]?.to ?? 0];
        return (
          <rect
            key={from}
            class={value === null ? 'gap' : tone}
            x={from * column}
            y={BAND - height}
            width={(to - from) * column}
            height={height}
          >
            <title>{`${text}, ${spanText(begin + start * 60, begin + end * 60)}`}</title>
          </rect>
        );
      })}
    </>
  );
}

const NO_RECORD = { tone: 'idle', text: 'No record' } as const;

function HourAxis({ from, to, width, y }: { from: number; to: number; width: number; y: number }) {
  return (
    <g class="axis" aria-hidden="true">
      {hourTicks(from, to, width / LABEL_WIDTH).map(({ at, share, label }) => {
        const x = Math.round(share * width) + 0.5;
        const isShown = label !== null && x + LABEL_ROOM < width;
        return (
          <g key={at}>
            <line x1={x} x2={x} y1={y} y2={y + (label === null ? 3 : 5)} />
            {isShown ? (
              <text x={x + 3} y={y + 13}>
                {label}
              </text>
            ) : null}
          </g>
        );
      })}
    </g>
  );
}

function Stretches<S>({
  label,
  stretches,
  wording,
}: {
  readonly label: string;
  readonly stretches: readonly Stretch<S>[];
  readonly wording: (state: S) => StateWording;
}) {
  const rows = stretches.toReversed();
  return (
    <details class="chart-table">
      <summary>
        As a table<span class="unseen">{`: ${label}`}</span>
      </summary>
      <table>
        <thead>
          <tr>
            <th scope="col">State</th>
            <th scope="col">From</th>
            <th scope="col">For</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, TABLE_ROWS).map(({ state, from, to }) => (
            <tr key={from}>
              <td>{state === null ? NO_RECORD.text : wording(state).text}</td>
              <td>
                <time dateTime={utc(from)} title={utc(from)}>
                  {absolute(from, to)}
                </time>
              </td>
              <td>{duration(to - from)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > TABLE_ROWS ? <p>{`The ${TABLE_ROWS} newest changes are shown.`}</p> : null}
    </details>
  );
}

function spanText(from: number, to: number): string {
  return `${absolute(from, to)} to ${absolute(to, to)}`;
}
