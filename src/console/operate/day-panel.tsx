import { untracked } from '@preact/signals';
import type { JSX } from 'preact';
import type { AdminIndex } from '../api/wire.ts';
import { Ribbon } from '../charts/ribbon.tsx';
import { Sparkline, extentOf } from '../charts/sparkline.tsx';
import { Panel } from '../components/panel.tsx';
import { useApp } from '../state/app.ts';
import { stateWords } from '../state/service-states.ts';
import { percent, counted, absolute, count, textBytes } from '../text/format.ts';

/** The last 24 hours of this server: the state of each channel, and the traffic. */
export function DayPanel(): JSX.Element {
  const app = useApp();
  const feed = app.pool.state<AdminIndex>('index');
  return (
    <Panel title="Last 24 hours" feed={feed}>
      {({ history }) => <Day history={history} />}
    </Panel>
  );
}

function Day({ history }: { history: AdminIndex['history'] }) {
  const app = useApp();
  const { states, from } = history;
  // The day of a time changes once a day; the charts must not be drawn every second for it.
  const now = untracked(() => app.now());
  const span = spanText(from, now);
  const rates = byteRates(history.sent_bytes);
  const shares = errorShares(history.requests, history.server_errors);
  return (
    <>
      <div class="columns">
        <Ribbon label="Official" states={states.official} from={from} wording={stateWords} />
        <Ribbon label="Localized" states={states.localized} from={from} wording={stateWords} />
      </div>
      <div class="columns">
        <Trend
          label="Bytes served"
          values={rates}
          format={(rate) => `${textBytes(Math.round(rate))}/s`}
          span={span}
        />
        <Trend label="5xx responses to clients" values={shares} format={percent} span={span} isTrouble />
      </div>
      <p class="muted">{recordText(history, now)}</p>
    </>
  );
}

function Trend({
  label,
  values,
  format,
  span,
  isTrouble = false,
}: {
  readonly label: string;
  readonly values: readonly (number | null)[];
  readonly format: (value: number) => string;
  readonly span: string;
  readonly isTrouble?: boolean;
}) {
  const extent = extentOf(values);
  const tone = isTrouble && (extent?.greatest ?? 0) > 0 ? 'bad' : 'info';
  return (
    <div class="trend">
      <h3>
        {label} <span class="figure">{extent === null ? '–' : format(extent.last)}</span>
      </h3>
      <Sparkline
        label={label}
        values={values}
        format={format}
        fold={isTrouble ? 'greatest' : 'mean'}
        tone={tone}
        span={span}
      />
    </div>
  );
}

type History = AdminIndex['history'];

/** Bytes per second, by minute. */
export function byteRates(sent: History['sent_bytes']): readonly (number | null)[] {
  return sent.map((value) => (value === null ? null : value / 60));
}

/** The share of requests that failed, by minute, from 0 to 1. A minute without requests had no failure. */
export function errorShares(
  requests: History['requests'],
  errors: History['server_errors'],
): readonly (number | null)[] {
  return requests.map((all, index) => {
    const failed = errors[index] ?? null;
    if (all === null || failed === null) return null;
    return all === 0 ? 0 : failed / all;
  });
}

/** The time that the history covers, in words. @param from Unix seconds @param now Unix seconds */
function spanText(from: number, now: number): string {
  return `since ${absolute(from, now)}`;
}

/** Which server has recorded the history, since when, and its sums. @param now Unix seconds */
export function recordText(history: Omit<History, 'states' | 'sent_bytes'>, now: number): string {
  const { server, requests, server_errors: errors } = history;
  const sums =
    requests.length === 0
      ? 'its first minute is not over yet'
      : `${counted(sum(requests), 'client request')} before this minute, ${count(sum(errors))} of them answered with 5xx`;
  return `Recorded by ${server} ${spanText(history.from, now)}: ${sums}. Each server keeps its own history, in memory.`;
}

function sum(values: readonly (number | null)[]): number {
  return values.reduce<number>((total, value) => total + (value ?? 0), 0);
}
