import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parse, stringify } from 'yaml';
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

/**
 * Runs the alerts of the chart over metrics that stay as they are.
 *
 * @param metrics the answer of `/metrics`
 * @param expected the alerts of the state that must fire, and the reason that they must name; no other may fire
 * @returns what promtool complains about; empty when the expectation holds
 */
export async function checkStateAlerts(
  metrics: string,
  expected: { readonly alerts: readonly StateAlert[]; readonly reason: string },
): Promise<string> {
  const home = await temporaryDirectory();
  const rules = (parse(readFileSync(RULES, 'utf8')) as readonly Rule[])
    .filter(({ alert }) => STATE_ALERTS.some((name) => name === alert))
    .map((rule) => ({
      alert: rule.alert,
      expr: rule.expr.replaceAll('MATCHERS', 'job="slipway"'),
      for: rule.for,
    }));
  const input_series = metrics.split('\n').flatMap((line) => {
    const [, name, labels, value] = /^(slipway_(?:verdict|service_\w+))\{(.*)\} (\d+)$/u.exec(line) ?? [];
    return name === undefined ? [] : [{ series: `${name}{${TARGET},${labels}}`, values: `${value}x40` }];
  });
  const firing = [{ exp_labels: { namespace: 'n', pod: 'p', reason: expected.reason } }];
  const alert_rule_test = STATE_ALERTS.map((alertname) => ({
    eval_time: LATER,
    alertname,
    exp_alerts: expected.alerts.includes(alertname) ? firing : [],
  }));
  await writeFile(join(home, 'rules.yaml'), stringify({ groups: [{ name: 'slipway', rules }] }));
  await writeFile(
    join(home, 'test.yaml'),
    stringify({
      rule_files: ['rules.yaml'],
      evaluation_interval: '1m',
      tests: [{ interval: '1m', input_series, alert_rule_test }],
    }),
  );
  const run = spawnSync('promtool', ['test', 'rules', 'test.yaml'], { cwd: home, encoding: 'utf8' });
  return run.status === 0 ? '' : run.stdout + run.stderr;
}
