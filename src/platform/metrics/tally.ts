import { Counter, Histogram, type Registry } from 'prom-client';

// prom-client hashes the labels on every count. Where a request takes a few microseconds in all, that is much: here each
// combination of labels is looked up once, counts in plain numbers, and is read when the metrics are collected.

/** One combination of labels of a counter. */
export interface CounterSeries {
  add(amount: number): void;
}

/** One combination of labels of a histogram. */
export interface HistogramSeries {
  observe(value: number): void;
}

/** What every metric is made from. */
export interface TallyOptions<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly Label[];
  readonly registry: Registry;
}

type Labels<Label extends string> = Readonly<Record<Label, string | number>>;

/** Registers a counter; the result gives one of its series. Ask once for each, and keep it. */
export function createTallyCounter<Label extends string>({
  name,
  help,
  labelNames,
  registry,
}: TallyOptions<Label>): (labels: Labels<Label>) => CounterSeries {
  const all: Array<{ readonly labels: Labels<Label>; pending: number }> = [];
  const counter = new Counter({
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    collect: () => {
      for (const each of all) {
        counter.inc({ ...each.labels }, each.pending);
        each.pending = 0;
      }
    },
  });
  return (labels) => {
    const series = { labels, pending: 0 };
    all.push(series);
    return {
      add: (amount) => {
        series.pending += amount;
      },
    };
  };
}

/** Registers a histogram with these upper bounds, ascending; the result gives one of its series. Ask once, and keep it. */
export function createTallyHistogram<Label extends string>({
  buckets,
  ...options
}: TallyOptions<Label> & {
  readonly buckets: readonly number[];
}): (labels: Labels<Label>) => HistogramSeries {
  const histogram = new TallyHistogram(options, buckets);
  return (labels) => histogram.series(labels);
}

interface Distribution {
  readonly labels: Readonly<Record<string, string | number>>;
  /** How many values were in each bucket alone; the last one is for those above all bounds. */
  readonly counts: Float64Array;
  sum: number;
}

type Collected<Label extends string> = Awaited<ReturnType<Histogram<Label>['get']>>;

/** A histogram of prom-client to its registry, with distributions of its own. */
class TallyHistogram<Label extends string> extends Histogram<Label> {
  readonly #bounds: readonly number[];
  readonly #distributions: Distribution[] = [];
  readonly #identity: { readonly name: string; readonly help: string };

  constructor({ name, help, labelNames, registry }: TallyOptions<Label>, bounds: readonly number[]) {
    super({ name, help, labelNames: [...labelNames], buckets: [...bounds], registers: [registry] });
    this.#bounds = bounds;
    this.#identity = { name, help };
  }

  series(labels: Labels<Label>): HistogramSeries {
    const bounds = this.#bounds;
    const distribution: Distribution = { labels, counts: new Float64Array(bounds.length + 1), sum: 0 };
    this.#distributions.push(distribution);
    return {
      observe: (value) => {
        let bucket = 0;
        while (bucket < bounds.length && value > (bounds[bucket] ?? 0)) bucket += 1;
        distribution.counts[bucket] = (distribution.counts[bucket] ?? 0) + 1;
        distribution.sum += value;
      },
    };
  }

  override async get(): Promise<Collected<Label>> {
    const { name, help } = this.#identity;
    const values = this.#distributions.flatMap(({ labels, counts, sum }) => {
      let count = 0;
      const buckets = Array.from(counts, (own, bucket) => {
        count += own;
        return {
          metricName: `${name}_bucket`,
          labels: { ...labels, le: this.#bounds[bucket] ?? '+Inf' },
          value: count,
        };
      });
      return [
        ...buckets,
        { metricName: `${name}_sum`, labels, value: sum },
        { metricName: `${name}_count`, labels, value: count },
      ];
    });
    // The type is declared as a number; what the registry writes is the word.
    const collected: unknown = { name, help, type: 'histogram', values, aggregator: 'sum' };
    return collected as Collected<Label>;
  }

  /** What the registry renders as text from. */
  async getForPromString(): Promise<unknown> {
    return await this.get();
  }
}
