import { untracked } from '@preact/signals';
import type { JSX } from 'preact';
import { Ribbon } from '../charts/ribbon.tsx';
import { Sparkline, extentOf } from '../charts/sparkline.tsx';
import type { AdminIndex } from '../api/wire.ts';
import { Panel } from '../components/panel.tsx';
import { useApp } from '../state/app.ts';
import { stateWords } from '../state/service-states.ts';
import { bytes, percent } from '../text/format.ts';
import { byteRates, errorShares, recordText, spanText } from './day-history.ts';

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

function Day({ history }: { readonly history: AdminIndex['history'] }): JSX.Element {
  const app = useApp();
  const { states, from } = history;
  // The day of a time changes once a day; the charts must not be drawn every second for it.
  const now = untracked(() => app.now());
  const span = spanText(from, now);
  const rates = byteRates(history);
  const shares = errorShares(history);
  return (
    <>
      <Ribbon label="Official" states={states.official} from={from} wording={stateWords} />
      <Ribbon label="Localized" states={states.localized} from={from} wording={stateWords} />
      <div class="columns">
        <Trend
          label="Bytes served"
          values={rates}
          format={(rate) => `${bytes(Math.round(rate))}/s`}
          span={span}
        />
        <Trend label="Client answers with 5xx" values={shares} format={percent} span={span} isTrouble />
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
  /** Whether every value above zero is one too many. */
  readonly isTrouble?: boolean;
}): JSX.Element {
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
