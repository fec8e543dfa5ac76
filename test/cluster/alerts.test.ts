import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { CHANNELS } from '../../src/domain/release/channel.ts';
import { CALM_REASONS } from '../../src/domain/service-state/calm-reasons.ts';
import { SERVICE_REASONS } from '../../src/domain/service-state/service-reasons.ts';
import { SERVICE_STATE_NAMES } from '../../src/domain/service-state/service-state.ts';
import { REASONS } from '../../src/domain/verdict/reasons.ts';
import { REFRESH_OUTCOMES } from '../../src/server/serving/attestation-poller.ts';
import { CHART, parseObjects, runHelm, type KubeObject } from '../support/helm.ts';
import { kubeTools } from '../support/kube-tools.ts';
import { hasTool } from '../support/tools.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const RUNBOOKS = join(ROOT, 'docs/runbooks');
const JOB = 'job="test-slipway-metrics",namespace="slipway",pod="p"';
const HEADINGS = ['## Symptom', '## Meaning', '## First command', '## Remedy'];

const programs = kubeTools('helm');
const canRun = programs !== null && hasTool('promtool', 'prometheus');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Series of one situation, and the alert that must fire at a time; the labels are those of the series that remain. */
interface Case {
  readonly series: Readonly<Record<string, string>>;
  readonly at: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly page?: string;
  /** Before this time the alert must not fire. */
  readonly quietAt?: string;
}

const POD = { namespace: 'slipway', pod: 'p' };
const OWN = { ...POD, job: 'test-slipway-metrics' };

const CASES: Readonly<Record<string, Case>> = {
  SlipwayOfficialNotServed: {
    series: { [`slipway_verdict{${JOB},channel="official",reason="EntryDamaged"}`]: '1x20' },
    quietAt: '4m',
    at: '6m',
    labels: { ...POD, reason: 'EntryDamaged' },
    page: 'EntryDamaged',
  },
  SlipwayLocalizedNotServed: {
    series: {
      [`slipway_verdict{${JOB},channel="official",reason="none"}`]: '1x30',
      [`slipway_verdict{${JOB},channel="localized",reason="BaseReleaseChanged"}`]: '1x30',
    },
    quietAt: '14m',
    at: '16m',
    labels: { ...POD, reason: 'BaseReleaseChanged' },
  },
  SlipwayAttestationExpiresSoon: {
    series: { [`slipway_attestation_expires_in_seconds{${JOB}}`]: '600-60x9' },
    quietAt: '6m',
    at: '9m',
    labels: OWN,
  },
  SlipwayDaemonNotAnswering: {
    series: {
      [`slipway_refresh_total{${JOB},outcome="failed"}`]: '0+6x30',
      [`slipway_refresh_total{${JOB},outcome="unchanged"}`]: '50x30',
    },
    quietAt: '4m',
    at: '12m',
    labels: POD,
  },
  SlipwayVolumeFull: {
    series: {
      [`slipway_service_reason{${JOB},channel="official",reason="DataVolumeFull"}`]: '0 1x20',
      [`slipway_service_reason{${JOB},channel="localized",reason="DataVolumeFull"}`]: '0 1x20',
    },
    quietAt: '2m',
    at: '4m',
    labels: { ...POD, reason: 'DataVolumeFull' },
    page: 'DataVolumeFull',
  },
  SlipwayDamageFound: {
    series: { [`slipway_scrub_damage_total{${JOB},kind="damaged"}`]: '0 0 0 1x20' },
    quietAt: '2m',
    at: '4m',
    labels: POD,
  },
  SlipwayServerErrors: {
    series: {
      [`slipway_http_requests_total{${JOB},route="/x",method="GET",status="200"}`]: '0+90x30',
      [`slipway_http_requests_total{${JOB},route="/x",method="GET",status="503"}`]: '0+10x30',
    },
    quietAt: '5m',
    at: '20m',
    labels: POD,
  },
  SlipwaySyncFailing: {
    series: { [`slipway_daemon_sync_consecutive_failures{${JOB}}`]: '0 1 2 3x10' },
    quietAt: '2m',
    at: '4m',
    labels: OWN,
  },
  SlipwaySyncLate: {
    series: { [`slipway_daemon_sync_next_timestamp_seconds{${JOB}}`]: '60x40' },
    quietAt: '10m',
    at: '20m',
    labels: OWN,
  },
  SlipwayDaemonRestarting: {
    series: { [`slipway_daemon_restarts{${JOB}}`]: '0 1 2 3 4x20' },
    quietAt: '1m',
    at: '10m',
    labels: OWN,
  },
  SlipwayBackupFailing: {
    series: { [`slipway_daemon_backup_consecutive_failures{${JOB}}`]: '0 1 2x10' },
    quietAt: '1m',
    at: '3m',
    labels: OWN,
  },
  SlipwayDoctorFailing: {
    series: {
      [`slipway_daemon_check_status{${JOB},check="disk"}`]: '2x30',
      [`slipway_daemon_check_status{${JOB},check="sync"}`]: '1x30',
    },
    quietAt: '14m',
    at: '16m',
    labels: { ...OWN, check: 'disk' },
  },
  SlipwayTargetDown: {
    series: { [`up{${JOB}}`]: '1 0x20' },
    quietAt: '3m',
    at: '8m',
    labels: OWN,
  },
  SlipwayOperatorWithoutLeader: {
    series: {
      'slipway_operator_leading{job="test-slipway-operator-metrics",pod="a"}': '0x20',
      'slipway_operator_leading{job="test-slipway-operator-metrics",pod="b"}': '1 0x20',
    },
    quietAt: '3m',
    at: '8m',
    labels: {},
  },
  SlipwayReleaseChannelNotReady: {
    series: {
      'slipway_operator_release_channel_ready{job="test-slipway-operator-metrics",namespace="games",name="official"}':
        '0x30',
    },
    quietAt: '14m',
    at: '16m',
    labels: { job: 'test-slipway-operator-metrics', namespace: 'games', name: 'official' },
  },
};

/** A service in which all is well. */
const HEALTHY: Readonly<Record<string, string>> = {
  [`up{${JOB}}`]: '1x60',
  [`slipway_verdict{${JOB},channel="official",reason="none"}`]: '1x60',
  [`slipway_verdict{${JOB},channel="localized",reason="ReleaseNotAuthorized"}`]: '1x60',
  [`slipway_attestation_expires_in_seconds{${JOB}}`]: '600 400 500 600 400x56',
  [`slipway_refresh_total{${JOB},outcome="unchanged"}`]: '0+3x60',
  [`slipway_refresh_total{${JOB},outcome="failed"}`]: '2x60',
  [`slipway_service_reason{${JOB},channel="official",reason="VolumeFull"}`]: '0x60',
  [`slipway_service_reason{${JOB},channel="official",reason="none"}`]: '1x60',
  [`slipway_scrub_damage_total{${JOB},kind="damaged"}`]: '3x60',
  [`slipway_http_requests_total{${JOB},route="/x",method="GET",status="200"}`]: '0+90x60',
  [`slipway_http_requests_total{${JOB},route="/x",method="GET",status="503"}`]: '0+1x60',
  // Probes of a release that is not served have alerts of their own.
  [`slipway_http_requests_total{${JOB},route="/readyz",method="GET",status="503"}`]: '0+30x60',
  [`slipway_daemon_sync_consecutive_failures{${JOB}}`]: '2x60',
  [`slipway_daemon_sync_next_timestamp_seconds{${JOB}}`]: '600+60x60',
  [`slipway_daemon_restarts{${JOB}}`]: '1x60',
  [`slipway_daemon_backup_consecutive_failures{${JOB}}`]: '0x60',
  [`slipway_daemon_check_status{${JOB},check="disk"}`]: '1x60',
  'slipway_operator_leading{job="test-slipway-operator-metrics",pod="a"}': '1x60',
  'slipway_operator_leading{job="test-slipway-operator-metrics",pod="b"}': '0x60',
  'slipway_operator_release_channel_ready{job="test-slipway-operator-metrics",namespace="g",name="o"}':
    '1x60',
};

describe.skipIf(!canRun)('the alerts of the chart', () => {
  let home = '';
  let rules: readonly Rule[] = [];

  const render = (values: object): KubeObject[] => {
    const run = runHelm(
      programs?.helm ?? '',
      ['template', 'test', CHART, '--namespace', 'slipway', '--values', '-'],
      { home, input: stringify({ publicBaseUrl: 'https://resources.example.org', ...values }) },
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
      exp_annotations: { runbook_url: `https://slipway.dev/runbooks/${page}.md` },
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
    const refused = {
      [`slipway_verdict{${JOB},channel="official",reason="AttestationUnavailable"}`]: '1x60',
    };
    const state = `slipway_service_state{${JOB},channel="official",state="starting"}`;
    const because = (reason: string) =>
      `slipway_service_reason{${JOB},channel="official",reason="${reason}"}`;
    const starts = { ...refused, [state]: '1x60' };
    expect(await runCases({ ...starts, [because('Syncing')]: '1x60' }, check([]))).toBe('');
    expect(await runCases({ ...starts, [because('Syncing')]: '0x60' }, check([]))).not.toBe('');
    expect(await runCases({ ...starts, [because('DaemonUnreachable')]: '1x60' }, check([]))).not.toBe('');
  });

  it.each(CALM_REASONS)('do not fire for a localized channel that serves nothing: %s', async (reason) => {
    const series = (value: string) => ({
      [`slipway_verdict{${JOB},channel="localized",reason="BaseReleaseChanged"}`]: '1x60',
      [`slipway_service_reason{${JOB},channel="localized",reason="${reason}"}`]: value,
    });
    const check = [{ eval_time: '30m', alertname: 'SlipwayLocalizedNotServed', exp_alerts: [] }];
    expect(await runCases(series('1x60'), check)).toBe('');
    expect(await runCases(series('0x60'), check)).not.toBe('');
  });

  it('are quiet while all is well', async () => {
    const checks = rules.flatMap(({ alert }) =>
      ['10m', '30m', '55m'].map((at) => ({ eval_time: at, alertname: alert, exp_alerts: [] })),
    );
    expect(await runCases(HEALTHY, checks)).toBe('');
  });

  it('ask only for metrics that the programs have', () => {
    const sources = globSync('src/**/*.ts', { cwd: ROOT })
      .map((file) => readFileSync(join(ROOT, file), 'utf8'))
      .join('\n');
    const names = rules.flatMap(({ expr }) => expr.match(/slipway_[a-z_]+/g) ?? []);
    expect(names.length).toBeGreaterThan(rules.length - 2);
    // The daemon and the operator add the beginning of some names themselves.
    const known = (name: string): boolean =>
      ['', 'slipway_daemon_', 'slipway_operator_release_channel_'].some(
        (start) => name.startsWith(start) && sources.includes(`'${name.slice(start.length)}'`),
      );
    expect([...new Set(names)].filter((name) => !known(name))).toEqual([]);
  });

  it('ask only for reasons and states that the programs tell', () => {
    const known = {
      reason: ['none', ...Object.keys({ ...REASONS, ...SERVICE_REASONS })],
      state: SERVICE_STATE_NAMES as readonly string[],
      outcome: REFRESH_OUTCOMES as readonly string[],
      channel: CHANNELS as readonly string[],
    };
    const asked = rules.flatMap(({ expr }) =>
      [...expr.matchAll(/\b(reason|state|outcome|channel)(?:=~|!~|!=|=)"([^"]*)"/g)].flatMap(
        ([, label = '', values = '']) => values.split('|').map((value) => [label, value] as const),
      ),
    );
    expect(asked.length).toBeGreaterThan(8);
    expect(asked.filter(([label, value]) => !known[label as keyof typeof known].includes(value))).toEqual([]);
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

  it('lead to a runbook with symptom, meaning, first command and remedy, as every reason does', () => {
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
    });
    const monitor = objects.find(({ kind }) => kind === 'PodMonitor');
    expect(monitor?.spec.podMetricsEndpoints).toMatchObject([
      { port: 'metrics', scrapeTimeout: '5s', honorLabels: true },
      { port: 'daemon-metrics', metricRelabelings: [{ action: 'labeldrop', regex: 'x' }] },
    ]);
    const board = objects.find(({ metadata }) => metadata.name === 'test-slipway-dashboard');
    expect(board?.metadata.labels).toMatchObject({ grafana_dashboard: '1' });
    const { panels } = JSON.parse(board?.data?.['slipway.json'] ?? '') as {
      panels: Array<{ targets: Array<{ expr: string }> }>;
    };
    expect(panels.length).toBeGreaterThan(5);
  });
});
