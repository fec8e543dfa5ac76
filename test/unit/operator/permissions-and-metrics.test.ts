import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import type { Channel } from '../../../src/domain/release/channel.ts';
import { RESTING_REASONS } from '../../../src/domain/service-state/calm-reasons.ts';
import { operatorConfigurationSchema } from '../../../src/operator/config.ts';
import { COLLECTION_KINDS } from '../../../src/operator/kubernetes/collections.ts';
import type { ReleaseChannel } from '../../../src/operator/kubernetes/objects.ts';
import { MissingPermissions } from '../../../src/operator/kubernetes/missing-permissions.ts';
import { REFLECTOR_TURNS } from '../../../src/operator/kubernetes/reflector.ts';
import { createOperatorMetrics } from '../../../src/operator/metrics.ts';
import { electionRules, watchedNamespaceRules, type PolicyRule } from '../../support/operator-rbac.ts';
import { RECONCILE_OUTCOMES } from '../../../src/operator/reconcile/reconciler.ts';
import { KubernetesError } from '../../../src/platform/kubernetes/kubernetes-error.ts';
import { createLogger } from '../../../src/platform/logging/logging.ts';

describe('the configuration of the operator', () => {
  it('needs no settings and has the documented defaults', () => {
    expect(operatorConfigurationSchema.parse({})).toMatchObject({
      watch: { namespaces: [], silentSeconds: 150 },
      election: { enabled: true, leaseSeconds: 15, renewSeconds: 10, retrySeconds: 2 },
      reconcile: { intervalSeconds: 30, finalizeSeconds: 600 },
      probes: { host: '::', port: 8081 },
      metrics: { host: '::', port: 9090 },
    });
  });

  it.each([
    ['a lease that could be taken while the leader still acts', { election: { renewSeconds: 15 } }],
    ['a retry that leaves no second chance', { election: { retrySeconds: 6 } }],
    ['a namespace that cannot exist', { watch: { namespaces: ['Bad/Name'] } }],
    ['what it does not know', { unknown: true }],
  ])('refuses %s', (_what, config) => {
    expect(operatorConfigurationSchema.safeParse(config).success).toBe(false);
  });
});

const lines = (rules: readonly PolicyRule[]): string[] =>
  rules.flatMap(({ apiGroups, resources, resourceNames = ['any'], verbs }) =>
    resources.map((resource) =>
      [verbs.join(','), resource, apiGroups.join(',') || 'core', ...resourceNames].join(' '),
    ),
  );

describe('the permissions of the operator', () => {
  it('are few', () => {
    expect(lines(watchedNamespaceRules(['token-a', 'token-b']))).toEqual([
      'list,watch releasechannels slipway.dev any',
      'patch releasechannels/status slipway.dev any',
      'list,watch services core any',
      'list,watch endpointslices discovery.k8s.io any',
      'get secrets core token-a token-b',
      'create events events.k8s.io any',
    ]);
    expect(lines(electionRules('lease'))).toEqual([
      'get,update leases coordination.k8s.io lease',
      'create leases coordination.k8s.io any',
    ]);
  });
});

const forbidden = (causes: readonly string[]): KubernetesError =>
  new KubernetesError(403, 'Forbidden', 'no', { causes });

describe('the permission book', () => {
  it('names a missing permission, but not a namespace that is being deleted', async () => {
    const book = new MissingPermissions(createLogger({ name: 'test', level: 'silent' }));
    const fail = async (causes: readonly string[]): Promise<void> => {
      const failing = book.watch('create events', async () => {
        throw forbidden(causes);
      });
      await expect(failing).rejects.toThrow('no');
    };
    await fail(['NamespaceTerminating']);
    expect(book.troubles()).toEqual([]);
    await fail([]);
    expect(book.troubles()).toEqual(['no permission to create events']);
    await book.watch('create events', async () => undefined);
    expect(book.troubles()).toEqual([]);
  });
});

function channel(name: string, ready: 'True' | 'False' | null, failures: number | null): ReleaseChannel {
  const conditions = ready === null ? [] : [{ type: 'Ready', status: ready }];
  const sync = failures === null ? {} : { sync: { result: 'Failed', consecutiveFailures: failures } };
  return {
    key: `games/${name}`,
    namespace: 'games',
    name,
    spec: { channel: 'official' },
    status: ready === null && failures === null ? undefined : { conditions, ...sync },
  } as unknown as ReleaseChannel;
}

describe('the metrics of the operator', () => {
  describe('the metrics of each ReleaseChannel', () => {
    async function samples(channels: readonly ReleaseChannel[], metric: string): Promise<string[]> {
      const registry = new Registry();
      createOperatorMetrics(registry).observe({
        channels: () => channels,
        queued: () => 0,
        isLeading: () => true,
        failuresOf: (key) => (key === 'games/a' ? 4 : 0),
        missingFields: () => 2,
      });
      const text = await registry.getSingleMetricAsString(`slipway_operator_${metric}`);
      return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    }

    it('say how often it could not be reconciled, and what its status lacks', async () => {
      const channels = [channel('b', 'True', 0), channel('a', 'False', 4)];
      expect(await samples(channels, 'release_channel_reconcile_failures')).toEqual([
        'slipway_operator_release_channel_reconcile_failures{namespace="games",name="a"} 4',
        'slipway_operator_release_channel_reconcile_failures{namespace="games",name="b"} 0',
      ]);
      // The definition is one for all objects.
      expect(await samples(channels, 'status_missing_fields')).toEqual([
        'slipway_operator_status_missing_fields 2',
      ]);
    });

    it('say whether it is ready, and how often its sync failed', async () => {
      const channels = [channel('b', 'True', 0), channel('a', 'False', 4), channel('new', null, null)];
      expect(await samples(channels, 'release_channel_ready')).toEqual([
        'slipway_operator_release_channel_ready{namespace="games",name="a"} 0',
        'slipway_operator_release_channel_ready{namespace="games",name="b"} 1',
        'slipway_operator_release_channel_ready{namespace="games",name="new"} 0',
      ]);
      expect(await samples(channels, 'release_channel_sync_failures')).toEqual([
        'slipway_operator_release_channel_sync_failures{namespace="games",name="a"} 4',
        'slipway_operator_release_channel_sync_failures{namespace="games",name="b"} 0',
      ]);
    });

    it('leave out a localized one for which nobody has to act, and count any other as not ready', async () => {
      const of = (kind: Channel, status: 'False' | 'Unknown', reason: string): ReleaseChannel => ({
        ...channel(`${kind}-${reason.toLowerCase()}`, null, null),
        spec: { channel: kind } as never,
        status: { conditions: [{ type: 'Ready', status, reason }] } as never,
      });
      const channels = [
        ...RESTING_REASONS.map((reason) => of('localized', 'Unknown', reason)),
        of('localized', 'False', 'LocalizedFollowing'),
        of('localized', 'False', 'SnapshotLoading'),
        of('localized', 'Unknown', 'PodUnreachable'),
        // The official channel must serve, whatever the cause.
        of('official', 'False', 'SnapshotLoading'),
      ];
      expect(await samples(channels, 'release_channel_ready')).toEqual([
        'slipway_operator_release_channel_ready{namespace="games",name="localized-podunreachable"} 0',
        'slipway_operator_release_channel_ready{namespace="games",name="official-snapshotloading"} 0',
      ]);
    });

    it('say which share of the units is ready for a localized release', async () => {
      const localized = (name: string, localization: object): ReleaseChannel => ({
        ...channel(name, 'True', null),
        status: { localization } as never,
      });
      const units = { total: 120, ready: 50, accepted: 0, translated: 50, blocked: 0, skipped: 20 };
      const channels = [
        localized('part', { coverage: '50%', units }),
        localized('empty', { coverage: '100%', units: { ...units, total: 20, ready: 0 } }),
        // Its units are those of an earlier release, or are not built yet.
        localized('unknown', { units }),
        channel('official', 'True', 0),
      ];
      expect(await samples(channels, 'release_channel_coverage_ratio')).toEqual([
        'slipway_operator_release_channel_coverage_ratio{namespace="games",name="empty"} 1',
        'slipway_operator_release_channel_coverage_ratio{namespace="games",name="part"} 0.5',
      ]);
    });

    it('are bounded, whatever users create', async () => {
      const many = Array.from({ length: 1500 }, (_, index) => channel(`c${index}`, 'True', 0));
      expect(await samples(many, 'release_channel_ready')).toHaveLength(1000);
    });
  });

  it('a new operator has every counter at 0', async () => {
    const registry = new Registry();
    createOperatorMetrics(registry);
    const lines = (await registry.metrics()).split('\n');
    for (const outcome of [...RECONCILE_OUTCOMES, 'failed'])
      expect(lines).toContain(`slipway_operator_reconciliations_total{outcome="${outcome}"} 0`);
    for (const kind of COLLECTION_KINDS) {
      for (const turn of REFLECTOR_TURNS)
        expect(lines).toContain(`slipway_operator_watch_turns_total{kind="${kind}",turn="${turn}"} 0`);
    }
  });
});
