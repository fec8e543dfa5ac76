import { Ribbon } from '../../../../src/console/charts/ribbon.tsx';
import { Ring } from '../../../../src/console/charts/ring.tsx';
import { Sparkline } from '../../../../src/console/charts/sparkline.tsx';
import type { StateWording } from '../../../../src/console/charts/state-summary.ts';
import { StorageBar } from '../../../../src/console/charts/storage-bar.tsx';
import { ThroughputCurve } from '../../../../src/console/charts/throughput-curve.tsx';
import { count, textBytes } from '../../../../src/console/text/format.ts';
import type { ComponentSample } from './sample.ts';

/** 2026-01-15 06:30 UTC. */
const FROM = 1_768_458_600;
const LOOKS: Readonly<Record<string, StateWording>> = {
  healthy: { tone: 'ok', text: 'Served' },
  degraded: { tone: 'warn', text: 'Served, needs attention' },
  starting: { tone: 'info', text: 'Starting' },
  unpublished: { tone: 'idle', text: 'No release' },
  damaged: { tone: 'bad', text: 'Not served: damaged' },
};
const UNKNOWN: StateWording = { tone: 'idle', text: 'Unknown' };

/** A state of the day that has every state, a gap, and an outage of one minute. */
const DAY = Array.from({ length: 1440 }, (_, minute) => {
  if (minute < 90) return 'unpublished';
  if (minute < 110) return 'starting';
  if (minute > 500 && minute < 560) return null;
  if (minute === 800) return 'damaged';
  return minute > 1100 && minute < 1180 ? 'degraded' : 'healthy';
});
/** A wave with a gap; the same in every browser. */
const WAVE = Array.from({ length: 1440 }, (_, minute) =>
  minute > 500 && minute < 560 ? null : Math.round((Math.sin(minute / 90) + 1.2) * 20_000_000),
);

/** The states of a day: every state, a gap, an outage of one minute; and a day without a record. */
export const ribbonSample: ComponentSample = {
  title: 'Ribbon',
  Body: () => (
    <>
      <Ribbon label="Official" states={DAY} from={FROM} wording={(state) => LOOKS[state] ?? UNKNOWN} />
      <Ribbon label="No record" states={[]} from={FROM} wording={() => UNKNOWN} />
    </>
  ),
};

/** Values over time: with a gap, with trouble, one value, none. */
export const sparklineSample: ComponentSample = {
  title: 'Sparkline',
  Body: () => (
    <div class="columns">
      <Sparkline label="Bytes" values={WAVE} format={(value) => `${textBytes(value)}/s`} span="24 h" />
      <Sparkline
        label="Failures"
        values={WAVE.map((_, minute) => (minute === 700 ? 3 : 0))}
        format={count}
        fold="greatest"
        tone="bad"
        span="24 h"
      />
      <Sparkline label="One value" values={[null, 5, null]} format={count} span="3 min" />
      <Sparkline label="Nothing" values={[]} format={count} span="24 h" />
    </div>
  ),
};

/** A countdown, full to over. */
export const ringSample: ComponentSample = {
  title: 'Ring',
  Body: () => (
    <p class="buttons">
      <Ring label="Expires in 9 min" share={0.92} tone="ok">
        9:12
      </Ring>
      <Ring label="Expires in 30 s" share={0.05} tone="warn">
        0:30
      </Ring>
      <Ring label="Expired" share={0} tone="bad">
        over
      </Ring>
    </p>
  ),
};

/** A volume with every part. */
export const storageSample: ComponentSample = {
  title: 'Storage',
  Body: () => (
    <StorageBar
      label="A volume with room"
      format={textBytes}
      parts={(['current', 'retained', 'reclaimable', 'quarantine', 'other', 'free'] as const).map(
        (kind, index) => ({ kind, text: kind, size: 41e9 / (index + 1) }),
      )}
    />
  ),
};

/** The speed of a task whose second half is slower. */
export const throughputSample: ComponentSample = {
  title: 'Throughput',
  Body: () => (
    <ThroughputCurve
      label="Speed of the download"
      samples={Array.from({ length: 60 }, (_, index) => ({
        at: FROM + index,
        done: index * 20e6 - (index > 30 ? (index - 30) * 12e6 : 0),
        phase: 'download',
      }))}
      format={(rate) => `${textBytes(Math.round(rate))}/s`}
    />
  ),
};
