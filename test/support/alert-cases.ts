/** The labels that a scrape of the chart adds. */
export const JOB = 'job="test-slipway-metrics",namespace="slipway",pod="p"';

/** Series of one situation, and the alert that must fire at a time; the labels are those of the series that remain. */
export interface AlertCase {
  readonly series: Readonly<Record<string, string>>;
  readonly at: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly page?: string;
  /** Before this time the alert must not fire. */
  readonly quietAt?: string;
}

const POD = { namespace: 'slipway', pod: 'p' };
const OWN = { ...POD, job: 'test-slipway-metrics' };

/** One situation for each alert of the chart. */
export const ALERT_CASES: Readonly<Record<string, AlertCase>> = {
  SlipwayOfficialNotServed: {
    series: {
      [`slipway_service_reason{${JOB},channel="official",reason="EntryDamaged"}`]: '1x20',
      [`slipway_service_state{${JOB},channel="official",state="damaged"}`]: '1x20',
    },
    quietAt: '4m',
    at: '6m',
    labels: { ...POD, reason: 'EntryDamaged' },
    page: 'EntryDamaged',
  },
  SlipwayLocalizedNotServed: {
    series: {
      [`slipway_service_state{${JOB},channel="official",state="healthy"}`]: '1x30',
      [`slipway_service_reason{${JOB},channel="localized",reason="BaseReleaseChanged"}`]: '1x30',
      [`slipway_service_state{${JOB},channel="localized",state="stale"}`]: '1x30',
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
      [`slipway_http_requests_total{${JOB},route="/v1/bootstrap",method="GET",status="200"}`]: '0+90x30',
      [`slipway_http_requests_total{${JOB},route="/v1/bootstrap",method="GET",status="503"}`]: '0+10x30',
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
      [`slipway_daemon_check_status{${JOB},check="store.space"}`]: '2x30',
      [`slipway_daemon_check_status{${JOB},check="upstream"}`]: '1x30',
    },
    quietAt: '14m',
    at: '16m',
    labels: { ...OWN, check: 'store.space' },
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
  SlipwayReconcileFailing: {
    series: {
      'slipway_operator_release_channel_reconcile_failures{job="test-slipway-operator-metrics",namespace="games",name="official"}':
        '0 3x30',
      'slipway_operator_release_channel_reconcile_failures{job="test-slipway-operator-metrics",namespace="games",name="localized"}':
        '0 3x30',
      'slipway_operator_status_missing_fields{job="test-slipway-operator-metrics",pod="a"}': '0 3x30',
      'slipway_operator_status_missing_fields{job="test-slipway-operator-metrics",pod="b"}': '0 3x30',
    },
    quietAt: '5m',
    at: '7m',
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
export const HEALTHY_SERIES: Readonly<Record<string, string>> = {
  [`up{${JOB}}`]: '1x60',
  [`slipway_service_state{${JOB},channel="official",state="healthy"}`]: '1x60',
  [`slipway_service_reason{${JOB},channel="localized",reason="NothingPublished"}`]: '1x60',
  [`slipway_service_state{${JOB},channel="localized",state="unpublished"}`]: '1x60',
  [`slipway_attestation_expires_in_seconds{${JOB}}`]: '600 400 500 600 400x56',
  [`slipway_refresh_total{${JOB},outcome="unchanged"}`]: '0+3x60',
  [`slipway_refresh_total{${JOB},outcome="failed"}`]: '2x60',
  [`slipway_service_reason{${JOB},channel="official",reason="VolumeFull"}`]: '0x60',
  [`slipway_service_reason{${JOB},channel="official",reason="none"}`]: '1x60',
  [`slipway_scrub_damage_total{${JOB},kind="damaged"}`]: '3x60',
  [`slipway_cdn_damage_total{${JOB},kind="missing"}`]: '1x60',
  [`slipway_daemon_damage_total{${JOB},found_by="verify",kind="damaged"}`]: '2x60',
  [`slipway_http_requests_total{${JOB},route="/v1/bootstrap",method="GET",status="200"}`]: '0+90x60',
  [`slipway_http_requests_total{${JOB},route="/v1/bootstrap",method="GET",status="503"}`]: '0+1x60',
  // Probes of a release that is not served have alerts of their own.
  [`slipway_http_requests_total{${JOB},route="/readyz",method="GET",status="503"}`]: '0+30x60',
  [`slipway_daemon_sync_consecutive_failures{${JOB}}`]: '2x60',
  [`slipway_daemon_sync_next_timestamp_seconds{${JOB}}`]: '600+60x60',
  [`slipway_daemon_restarts{${JOB}}`]: '1x60',
  [`slipway_daemon_backup_consecutive_failures{${JOB}}`]: '0x60',
  [`slipway_daemon_check_status{${JOB},check="store.space"}`]: '1x60',
  'slipway_operator_leading{job="test-slipway-operator-metrics",pod="a"}': '1x60',
  'slipway_operator_leading{job="test-slipway-operator-metrics",pod="b"}': '0x60',
  'slipway_operator_release_channel_ready{job="test-slipway-operator-metrics",namespace="g",name="o"}':
    '1x60',
};

/** The series that make {@link ALERT_CASES}' alert of damage fire, by who found it. Each starts at 0 and counts once. */
export const DAMAGE_SERIES = [
  `slipway_scrub_damage_total{${JOB},kind="damaged"}`,
  `slipway_cdn_damage_total{${JOB},kind="missing"}`,
  `slipway_daemon_damage_total{${JOB},found_by="verify",kind="damaged"}`,
] as const;
