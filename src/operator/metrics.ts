import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { conditionOf, type ReleaseChannel } from './kubernetes/objects.ts';
import { COLLECTION_KINDS } from './kubernetes/collections.ts';
import { REFLECTOR_TURNS, type ReflectorTurn } from './kubernetes/reflector.ts';
import { RECONCILE_OUTCOMES, type ReconcileOutcome } from './reconcile/reconciler.ts';
import { CALM_REASONS, isCalm } from '../domain/service-state/calm-reasons.ts';
import { shareOf } from '../domain/translation/publish-outcome.ts';

export interface OperatorMetrics {
  reconciled(outcome: ReconcileOutcome | 'failed', seconds: number): void;
  turned(kind: string, turn: ReflectorTurn): void;
  /** Sets the sources of the gauges, which are read on every collection. */
  observe(sources: {
    readonly channels: () => Iterable<ReleaseChannel>;
    readonly queued: () => number;
    readonly isLeading: () => boolean;
    /** Failed reconciliations in a row of an object. */
    readonly failuresOf: (key: string) => number;
    /** Fields of a status that the definition in the cluster does not take; `null` while that is not known. */
    readonly missingFields: () => number | null;
  }): void;
}

/** Registers the metrics. Only {@link observeEachChannel} names objects; every other label has a fixed set of values. */
export function createOperatorMetrics(registry: Registry): OperatorMetrics {
  const registers = [registry];
  const reconciliations = new Counter({
    name: 'slipway_operator_reconciliations_total',
    help: 'Reconciliations by outcome.',
    labelNames: ['outcome'],
    registers,
  });
  const duration = new Histogram({
    name: 'slipway_operator_reconciliation_duration_seconds',
    help: 'Time of one reconciliation.',
    buckets: [0.01, 0.05, 0.25, 1, 5, 30],
    registers,
  });
  const turns = new Counter({
    name: 'slipway_operator_watch_turns_total',
    help: 'Lists, and ended watches by cause, by kind.',
    labelNames: ['kind', 'turn'],
    registers,
  });
  // increase() does not count the first sample of a series.
  for (const outcome of [...RECONCILE_OUTCOMES, 'failed']) reconciliations.inc({ outcome }, 0);
  for (const kind of COLLECTION_KINDS) {
    for (const turn of REFLECTOR_TURNS) turns.inc({ kind, turn }, 0);
  }
  return {
    reconciled: (outcome, seconds) => {
      reconciliations.inc({ outcome });
      duration.observe(seconds);
    },
    turned: (kind, turn) => {
      turns.inc({ kind, turn });
    },
    observe: ({ channels, queued, isLeading, failuresOf, missingFields }) => {
      observeChannels(channels, registers);
      observeEachChannel(channels, registers, failuresOf);
      const depth = new Gauge({
        name: 'slipway_operator_queue_depth',
        help: 'ReleaseChannels that wait for a reconciliation.',
        registers,
        collect: () => {
          depth.set(queued());
        },
      });
      const missing = new Gauge({
        name: 'slipway_operator_status_missing_fields',
        help: 'Fields that every status lacks, because the definition in the cluster does not take them; 0 while that is not known.',
        registers,
        collect: () => {
          missing.set(missingFields() ?? 0);
        },
      });
      const leading = new Gauge({
        name: 'slipway_operator_leading',
        help: '1 while this process may act.',
        registers,
        collect: () => {
          leading.set(isLeading() ? 1 : 0);
        },
      });
    },
  };
}

/** ReleaseChannels with series of their own, first by namespace and name; more would let users create series without bound. */
const MAX_CHANNEL_SERIES = 1000;

/** Registers the gauges of each ReleaseChannel. A deleted one has no series. */
function observeEachChannel(
  channels: () => Iterable<ReleaseChannel>,
  registers: Registry[],
  failuresOf: (key: string) => number,
): void {
  const each = (name: string, help: string, read: (channel: ReleaseChannel) => number | null): void => {
    const gauge: Gauge<'namespace' | 'name'> = new Gauge({
      name: `slipway_operator_release_channel_${name}`,
      help,
      labelNames: ['namespace', 'name'],
      registers,
      collect: () => {
        gauge.reset();
        for (const channel of firstByName(channels())) {
          const value = read(channel);
          if (value !== null) gauge.set({ namespace: channel.namespace, name: channel.name }, value);
        }
      },
    });
  };
  each(
    'ready',
    `Whether the ReleaseChannel is Ready: 1 or 0; absent while nobody has to act because a localized one is not (${CALM_REASONS.join(', ')}).`,
    ({ spec, status }) => {
      const ready = conditionOf(status, 'Ready');
      if (ready?.status === 'True') return 1;
      return ready !== null && isCalm(spec.channel, ready.reason) ? null : 0;
    },
  );
  each(
    'reconcile_failures',
    'Failed reconciliations of the ReleaseChannel in a row: its status is older than the state of its pods.',
    ({ key }) => failuresOf(key),
  );
  each(
    'sync_failures',
    'Failed syncs of the ReleaseChannel in a row; absent without a sync.',
    ({ status }) => status?.sync?.consecutiveFailures ?? null,
  );
  each(
    'coverage_ratio',
    'Share of the units of the official release that are ready for a localized one, 0 to 1; absent while it is not known.',
    ({ status }) => {
      const units = status?.localization?.units;
      // The status has a coverage only while the units of the official release are known.
      if (units?.ready === undefined || status?.localization?.coverage === undefined) return null;
      return shareOf(units.ready, units.total - units.skipped);
    },
  );
}

function firstByName(channels: Iterable<ReleaseChannel>): ReleaseChannel[] {
  return [...channels].sort((left, right) => (left.key < right.key ? -1 : 1)).slice(0, MAX_CHANNEL_SERIES);
}

function observeChannels(channels: () => Iterable<ReleaseChannel>, registers: Registry[]): void {
  const states = new Gauge({
    name: 'slipway_operator_release_channels',
    help: 'ReleaseChannels by the status of their Ready condition.',
    labelNames: ['ready'],
    registers,
    collect: () => {
      const counts = { True: 0, False: 0, Unknown: 0 };
      for (const { status } of channels()) counts[conditionOf(status, 'Ready')?.status ?? 'Unknown'] += 1;
      for (const [ready, count] of Object.entries(counts)) states.set({ ready }, count);
    },
  });
  const syncs = new Gauge({
    name: 'slipway_operator_release_channel_syncs',
    help: 'Official ReleaseChannels by the result of their last sync.',
    labelNames: ['result'],
    registers,
    collect: () => {
      const counts = { Changed: 0, Unchanged: 0, Failed: 0, Cancelled: 0, None: 0 };
      for (const { spec, status } of channels()) {
        if (spec.channel === 'official') counts[status?.sync?.result ?? 'None'] += 1;
      }
      for (const [result, count] of Object.entries(counts)) syncs.set({ result }, count);
    },
  });
  const failures = new Gauge({
    name: 'slipway_operator_sync_consecutive_failures',
    help: 'The most failed syncs in a row of any ReleaseChannel.',
    registers,
    collect: () => {
      const counts = [...channels()].map(({ status }) => status?.sync?.consecutiveFailures ?? 0);
      failures.set(counts.reduce((most, count) => Math.max(most, count), 0));
    },
  });
}
