import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parse, stringify } from 'yaml';
import type { AtEnd } from './shared-fixture.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const RULES = resolve(import.meta.dirname, '../../charts/slipway/files/alerts.yaml');
/** The labels that a scrape adds. */
const TARGET = 'job="slipway",namespace="n",pod="p"';
/** Later than the `for` of every alert of the state. */
const LATER = '30m';

/** The alerts that name the reason of the state. */
export const STATE_ALERTS = [
  'SlipwayOfficialNotServed',
  'SlipwayLocalizedNotServed',
  'SlipwayVolumeFull',
] as const;

/** One of {@link STATE_ALERTS}. */
export type StateAlert = (typeof STATE_ALERTS)[number];

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
}

/** Metrics that stay as they are, and the alerts that fire then. */
export interface AlertExpectation {
  /** Names it in what promtool prints. */
  readonly name: string;
  /** The answer of `/metrics`. */
  readonly metrics: string;
  /** The alerts of the state that must fire; no other may fire. */
  readonly alerts: readonly StateAlert[];
  /** The reason that the alerts must name. */
  readonly reason: string;
}

/**
 * Runs the alerts of the chart over metrics. All expectations take one run, because each start of promtool takes a tenth of a
 * second of processor time.
 *
 * @returns what promtool complains about; empty when all expectations hold
 */
export async function checkStateAlerts(
  expectations: readonly AlertExpectation[],
  atEnd: AtEnd,
): Promise<string> {
  const home = await temporaryDirectory(atEnd);
  const rules = (parse(readFileSync(RULES, 'utf8')) as readonly Rule[])
    .filter(({ alert }) => STATE_ALERTS.some((name) => name === alert))
    .map((rule) => ({
      alert: rule.alert,
      expr: rule.expr.replaceAll('MATCHERS', 'job="slipway"'),
      for: rule.for,
    }));
  await writeFile(join(home, 'rules.yaml'), stringify({ groups: [{ name: 'slipway', rules }] }));
  await writeFile(
    join(home, 'test.yaml'),
    stringify({
      rule_files: ['rules.yaml'],
      evaluation_interval: '1m',
      tests: expectations.map(renderExpectation),
    }),
  );
  const run = spawnSync('promtool', ['test', 'rules', 'test.yaml'], { cwd: home, encoding: 'utf8' });
  return run.status === 0 ? '' : run.stdout + run.stderr;
}

/** Renders an expectation as a test of promtool. */
function renderExpectation({ name, metrics, alerts, reason }: AlertExpectation): object {
  const input_series = metrics.split('\n').flatMap((line) => {
    const [, metric, labels, value] = /^(slipway_(?:verdict|service_\w+))\{(.*)\} (\d+)$/u.exec(line) ?? [];
    return metric === undefined ? [] : [{ series: `${metric}{${TARGET},${labels}}`, values: `${value}x40` }];
  });
  const firing = [{ exp_labels: { namespace: 'n', pod: 'p', reason } }];
  const alert_rule_test = STATE_ALERTS.map((alertname) => ({
    eval_time: LATER,
    alertname,
    exp_alerts: alerts.includes(alertname) ? firing : [],
  }));
  return { name, interval: '1m', input_series, alert_rule_test };
}
