import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { CALM_REASONS } from '../../src/domain/service-state/calm-reasons.ts';
import { SERVICE_REASONS } from '../../src/domain/service-state/service-reasons.ts';
import { REASONS } from '../../src/domain/verdict/reasons.ts';
import {
  ALERT_CASES as CASES,
  DAMAGE_SERIES,
  HEALTHY_SERIES as HEALTHY,
  JOB,
} from '../support/alert-cases.ts';
import { CHART, parseObjects, runHelm, type KubeObject } from '../support/helm.ts';
import { kubeTools } from '../support/kube-tools.ts';
import { readMetrics, strangersOf } from '../support/metric-series.ts';
import { collectRealMetrics } from '../support/real-metrics.ts';
import { hasTool } from '../support/tools.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const RUNBOOKS = join(ROOT, 'docs/runbooks');
/** Where the servers of the installation have the runbooks. */
const HERE = 'http://test-slipway-admin.slipway.svc/admin/dashboard/runbooks';
const HEADINGS = ['## First command', '## Remedy', '## Fixed when', '## Escalate'];

const programs = kubeTools('helm');
const canRun = programs !== null && hasTool('promtool', 'prometheus');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

const NODE_GAUGES = /^nodejs_active_(?:handles|requests|resources)_total non-counter /u;

/** The subjects that the board must draw. */
const BOARD_PARTS = [
  'slipway_service_reason',
  'slipway_daemon_damage_total',
  'slipway_daemon_tasks_total',
  'slipway_daemon_task_queue_depth',
  'slipway_daemon_task_queue_oldest_seconds',
  'slipway_daemon_store_bytes',
  'slipway_daemon_schedule_lateness_seconds',
  'slipway_daemon_upstream_errors_total',
];

/** The expressions of all panels of the board. */
function boardExpressions(render: (values: object) => readonly KubeObject[]): readonly string[] {
  const objects = render({ grafanaDashboard: { enabled: true } });
  const board = objects.find(({ metadata }) => metadata.name === 'test-slipway-dashboard');
  const { panels } = JSON.parse(board?.data?.['slipway.json'] ?? '') as {
    readonly panels: ReadonlyArray<{ readonly targets: ReadonlyArray<{ readonly expr: string }> }>;
  };
  return panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
}

describe.skipIf(!canRun)('the alerts of the chart', () => {
  let home = '';
  let rules: readonly Rule[] = [];

  const render = (values: object): KubeObject[] => {
    const run = runHelm(
      programs?.helm ?? '',
      ['template', 'test', CHART, '--namespace', 'slipway', '--values', '-'],
      {
        home,
        input: stringify({
          publicBaseUrl: 'https://resources.example.org',
          secrets: { generate: true },
          ...values,
        }),
      },
    );
    expect(run.stderr).toBe('');
    return parseObjects(run.stdout);
  };
  const rulesOf = (prometheusRule: object, more: object = {}): Rule[] => {
    const objects = render({ prometheusRule: { enabled: true, ...prometheusRule }, ...more });
    const rule = objects.find(({ kind }) => kind === 'PrometheusRule');
    if (rule === undefined) throw new Error('there is no PrometheusRule');
    return rule.spec.groups[0].rules as Rule[];
  };
  const promtool = (...args: readonly string[]): string => {
    const run = spawnSync('promtool', args, { cwd: home, encoding: 'utf8' });
    return run.status === 0 ? '' : run.stdout + run.stderr;
  };
  const runCases = async (series: Readonly<Record<string, string>>, checks: readonly object[]) => {
    const name = 'test.yaml';
    const inputs = Object.entries(series).map(([of, values]) => ({ series: of, values }));
    await writeFile(
      join(home, name),
      stringify({
        rule_files: ['rules.yaml'],
        evaluation_interval: '1m',
        tests: [{ interval: '1m', input_series: inputs, alert_rule_test: checks }],
      }),
    );
    return promtool('test', 'rules', name);
  };

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'slipway-alerts-'));
    rules = rulesOf({});
    // promtool compares annotations; only the link to the runbook matters here.
    const plain = rules.map(({ annotations, ...rule }) => ({
      ...rule,
      annotations: { runbook_url: annotations['runbook_url'] },
    }));
    await writeFile(join(home, 'rules.yaml'), stringify({ groups: [{ name: 'slipway', rules: plain }] }));
  });

  afterAll(async () => {
    await rm(home, { recursive: true, force: true });
  });

  it('are accepted by Prometheus, texts included', async () => {
    await writeFile(join(home, 'whole.yaml'), stringify({ groups: [{ name: 'slipway', rules }] }));
    expect(promtool('check', 'rules', 'whole.yaml')).toBe('');
  });

  it('have a case each', () => {
    expect(rules.map(({ alert }) => alert)).toEqual(Object.keys(CASES));
  });

  it.each(Object.entries(CASES))('%s fires when it must, and not before', async (alert, situation) => {
    const { series, at, quietAt, labels, page = alert } = situation;
    const severity = rules.find((rule) => rule.alert === alert)?.labels['severity'];
    const fired = {
      exp_labels: { ...labels, severity },
      exp_annotations: { runbook_url: `${HERE}/${page}` },
    };
    expect(
      await runCases(series, [
        { eval_time: quietAt, alertname: alert, exp_alerts: [] },
        { eval_time: at, alertname: alert, exp_alerts: [fired] },
      ]),
    ).toBe('');
  });

  it('let a first sync end, or a start, before they say that the official release is not served', async () => {
    const check = (exp_alerts: readonly object[]) => [
      { eval_time: '30m', alertname: 'SlipwayOfficialNotServed', exp_alerts },
    ];
    const inState = (state: string, reason: string) => ({
      [`slipway_service_state{${JOB},channel="official",state="${state}"}`]: '1x60',
      [`slipway_service_reason{${JOB},channel="official",reason="${reason}"}`]: '1x60',
    });
    expect(await runCases(inState('starting', 'Syncing'), check([]))).toBe('');
    expect(await runCases(inState('unpublished', 'NeverSynced'), check([]))).not.toBe('');
    expect(await runCases(inState('starting', 'DaemonUnreachable'), check([]))).not.toBe('');
  });

  it.each(CALM_REASONS)('do not fire for a localized channel that serves nothing: %s', async (reason) => {
    const because = (told: string) => ({
      [`slipway_service_state{${JOB},channel="localized",state="starting"}`]: '1x60',
      [`slipway_service_reason{${JOB},channel="localized",reason="${told}"}`]: '1x60',
    });
    const check = [{ eval_time: '30m', alertname: 'SlipwayLocalizedNotServed', exp_alerts: [] }];
    expect(await runCases(because(reason), check)).toBe('');
    expect(await runCases(because('BaseReleaseChanged'), check)).not.toBe('');
  });

  it('are quiet while all is well', async () => {
    const checks = rules.flatMap(({ alert }) =>
      ['10m', '30m', '55m'].map((at) => ({ eval_time: at, alertname: alert, exp_alerts: [] })),
    );
    expect(await runCases(HEALTHY, checks)).toBe('');
  });

  it.each(DAMAGE_SERIES)('tell damage of every finder: %s', async (series) => {
    const fired = {
      exp_labels: { namespace: 'slipway', pod: 'p', severity: 'warning' },
      exp_annotations: { runbook_url: `${HERE}/SlipwayDamageFound` },
    };
    const check = (eval_time: string, exp_alerts: readonly object[]) => ({
      eval_time,
      alertname: 'SlipwayDamageFound',
      exp_alerts,
    });
    expect(await runCases({ [series]: '0 0 0 1x20' }, [check('2m', []), check('4m', [fired])])).toBe('');
  });

  it('and the panels of the board are expressions of Prometheus', async () => {
    const records = boardExpressions(render).map((expr, position) => ({
      record: `panel:${position}`,
      expr: expr.replaceAll('$__rate_interval', '5m'),
    }));
    expect(records.length).toBeGreaterThan(14);
    await writeFile(join(home, 'board.yaml'), stringify({ groups: [{ name: 'board', rules: records }] }));
    expect(promtool('check', 'rules', 'board.yaml')).toBe('');
  });

  it('ask only for metrics, labels and values that real programs expose, and so do the board and these cases', async () => {
    const texts = await collectRealMetrics();
    const exposed = readMetrics(...Object.values(texts));
    const expressions = [...rules.map(({ expr }) => expr), ...boardExpressions(render)];
    expect(expressions.flatMap((expr) => strangersOf(expr, exposed))).toEqual([]);
    const series = [...Object.values(CASES).flatMap((each) => Object.keys(each.series)), ...DAMAGE_SERIES];
    expect(
      [...series, ...Object.keys(HEALTHY)].flatMap((each) => strangersOf(each, exposed, { isWhole: true })),
    ).toEqual([]);
    // The comparison notices a made-up name, label and value.
    expect(
      strangersOf('slipway_verdict{reason="NoSuchReason",kind="x"} + slipway_none', exposed),
    ).toHaveLength(3);
    for (const [program, text] of Object.entries(texts)) {
      const run = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' });
      expect(run.error).toBeUndefined();
      const complaints = `${run.stdout}${run.stderr}`.split('\n').filter((line) => line !== '');
      // The metrics library names three gauges of Node as counters.
      expect([program, complaints.filter((line) => !NODE_GAUGES.test(line))]).toEqual([program, []]);
    }
  });

  it('can be left out, labelled, and pointed at other series and other runbooks', () => {
    const found = rulesOf({
      disabled: ['SlipwayTargetDown'],
      alertLabels: { team: 'water', severity: 'page' },
      matchers: 'job="mine"',
      runbookUrl: 'https://wiki.example.org/books/',
    });
    expect(found).toHaveLength(rules.length - 1);
    for (const { expr, labels, annotations } of found) {
      expect(expr).toContain('job="mine"');
      expect(labels).toEqual({ team: 'water', severity: 'page' });
      expect(annotations['runbook_url']).toMatch(/^https:\/\/wiki\.example\.org\/books\/[^/]+\.md$/);
    }
  });

  it('follow the validity of attestations', () => {
    const config = { attestation: { ttlSeconds: 100 } };
    const rule = rulesOf({}, { daemon: { config } }).find(
      ({ alert }) => alert === 'SlipwayAttestationExpiresSoon',
    );
    expect(rule?.expr).toMatch(/< 40 and/);
  });

  it('lead to a runbook of the common shape, as every reason does', () => {
    const pages = [
      ...Object.keys({ ...REASONS, ...SERVICE_REASONS }),
      ...rules.map(({ alert }) => alert).filter((alert) => CASES[alert]?.page === undefined),
    ];
    for (const page of pages) {
      const file = join(RUNBOOKS, `${page}.md`);
      expect(existsSync(file), file).toBe(true);
      const headings = readFileSync(file, 'utf8').match(/^##? .*$/gm);
      expect(headings, file).toEqual([`# ${page}`, ...HEADINGS]);
    }
    const known = new Set([...pages, 'README']);
    expect(globSync('*.md', { cwd: RUNBOOKS }).filter((file) => !known.has(file.slice(0, -3)))).toEqual([]);
  });

  it('are fed by monitors of both kinds, and drawn on a board', () => {
    const objects = render({
      podMonitor: {
        enabled: true,
        scrapeTimeout: '5s',
        metricRelabelings: [{ action: 'labeldrop', regex: 'x' }],
      },
      grafanaDashboard: { enabled: true },
      prometheusRule: { runbookUrl: 'https://wiki.example.org/books/' },
    });
    const monitor = objects.find(({ kind }) => kind === 'PodMonitor');
    expect(monitor?.spec.podMetricsEndpoints).toMatchObject([
      { port: 'metrics', scrapeTimeout: '5s', honorLabels: true },
      { port: 'daemon-metrics', metricRelabelings: [{ action: 'labeldrop', regex: 'x' }] },
    ]);
    const board = objects.find(({ metadata }) => metadata.name === 'test-slipway-dashboard');
    expect(board?.metadata.labels).toMatchObject({ grafana_dashboard: '1' });
    expect(board?.data?.['slipway.json']).toContain('"url": "https://wiki.example.org/books/"');
    for (const part of BOARD_PARTS) expect(boardExpressions(render).join('\n')).toContain(part);
  });
});
