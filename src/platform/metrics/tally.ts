import { Counter, type Registry } from 'prom-client';

// prom-client hashes the labels on every count, which is slow for a request that takes a few microseconds. Here each
// combination of labels is looked up once and counts in a plain number, which is read when the metrics are collected.

export interface CounterSeries {
  add(amount: number): void;
}

interface TallyOptions<Label extends string> {
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
  const counter: Counter<string> = new Counter({
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
