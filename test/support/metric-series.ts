/** One metric as a program exposes it. */
export interface ExposedMetric {
  /** counter, gauge or histogram. */
  readonly type: string;
  /** The values of each label, without `le`. */
  readonly labels: ReadonlyMap<string, ReadonlySet<string>>;
  /** Label sets with a sample. */
  readonly series: number;
}

/**
 * Reads the metrics that answers of `/metrics` have, by the names that expressions ask for: of a histogram those with `_bucket`, `_sum`
 * and `_count`.
 */
export function readMetrics(...answers: readonly string[]): ReadonlyMap<string, ExposedMetric> {
  const found = new Map<string, { type: string; labels: Map<string, Set<string>>; series: number }>();
  const types = new Map<string, string>();
  for (const line of answers.join('\n').split('\n')) {
    const [, typed, type] = /^# TYPE (\S+) (\S+)$/u.exec(line) ?? [];
    if (typed !== undefined) types.set(typed, type ?? '');
    const [, name, labels = ''] = /^([a-z_]+)(?:\{(.*)\})? \S+$/u.exec(line) ?? [];
    if (name === undefined) continue;
    const family = name.replace(/_(?:bucket|sum|count)$/u, '');
    const metric = found.get(name) ?? {
      type: types.get(name) ?? types.get(family) ?? '',
      labels: new Map<string, Set<string>>(),
      series: 0,
    };
    found.set(name, metric);
    metric.series += 1;
    for (const [label, value] of labelsOf(labels)) {
      if (label === 'le') continue;
      metric.labels.set(label, (metric.labels.get(label) ?? new Set<string>()).add(value));
    }
  }
  return found;
}

/** The labels of a series, as it is written between braces. */
export function labelsOf(text: string): ReadonlyArray<readonly [string, string]> {
  return [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/gu)].map(
    ([, label = '', value = '']) => [label, value] as const,
  );
}

/** The labels that a scrape adds, and those whose values name objects of a cluster. */
const OPEN_LABELS: ReadonlySet<string> = new Set(['job', 'namespace', 'pod', 'name']);

/**
 * Names the metrics, labels and values of labels in an expression that no program exposes.
 *
 * @param options.isWhole whether the expression is one series, which must have every label of its metric
 */
export function strangersOf(
  expression: string,
  exposed: ReadonlyMap<string, ExposedMetric>,
  { isWhole = false }: { readonly isWhole?: boolean } = {},
): readonly string[] {
  const selectors = [...expression.matchAll(/\b(slipway_\w+)(?:\{([^}]*)\})?/gu)];
  return [
    ...selectors.flatMap(([, name = '', selector = '']) => {
      const metric = exposed.get(name);
      if (metric === undefined) return [name];
      return [
        ...strangeValues(name, metric, selector),
        ...(isWhole ? missingLabels(name, metric, selector) : []),
      ];
    }),
    ...strangeGroups(expression, exposed),
  ];
}

/** Each alternative must be a value that exists, or a pattern that one of them has. */
function strangeValues(name: string, { labels }: ExposedMetric, selector: string): readonly string[] {
  return [...selector.matchAll(/(\w+)(=~|!~|!=|=)"([^"]*)"/gu)].flatMap(
    ([, label = '', operator = '', wanted = '']) => {
      if (OPEN_LABELS.has(label)) return [];
      const values = [...(labels.get(label) ?? [])];
      const isPattern = operator.endsWith('~');
      return (isPattern ? wanted.split('|') : [wanted])
        .filter((each) => {
          const pattern = new RegExp(`^(?:${each})$`, 'u');
          return !values.some((value) => (isPattern ? pattern.test(value) : value === each));
        })
        .map((each) => `${name}{${label}="${each}"}`);
    },
  );
}

function missingLabels(name: string, { labels }: ExposedMetric, selector: string): readonly string[] {
  const asked = new Set(labelsOf(selector).map(([label]) => label));
  return [...labels.keys()].filter((label) => !asked.has(label)).map((label) => `${name} without ${label}`);
}

/** The labels of `by` and `on` that no metric has. */
function strangeGroups(expression: string, exposed: ReadonlyMap<string, ExposedMetric>): readonly string[] {
  const known = new Set([...exposed.values()].flatMap(({ labels }) => [...labels.keys()]));
  return [...expression.matchAll(/\b(?:by|on) \(([^)]*)\)/gu)]
    .flatMap(([, labels = '']) => labels.split(', '))
    .filter((label) => !known.has(label) && !OPEN_LABELS.has(label) && label !== 'le');
}
