import { spawnSync } from 'node:child_process';
import { createPublicKey } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import type { z } from 'zod';
import { keyIdOf, loadSigningKeys, loadTrustedKeys } from '../../src/attestation/keys.ts';
import { daemonConfigurationSchema } from '../../src/daemon/settings/config.ts';
import { operatorConfigurationSchema } from '../../src/operator/config.ts';
import { electionRules, watchedNamespaceRules } from '../support/operator-rbac.ts';
import { PROVIDER_PRESETS } from '../../src/localization/translation/providers/provider-presets.ts';
import { UPSTREAM_KINDS } from '../../src/upstream/upstream-config.ts';
import { serverConfigurationSchema } from '../../src/server/config/config.ts';
import { CHART_VALUES, REFUSED_VALUES } from '../support/chart-values.ts';
import { CHART, parseObjects, runHelm, type KubeObject, type ProgramRun } from '../support/helm.ts';
import { startKubeControlPlane, type KubeControlPlane } from '../support/kube-control-plane.ts';
import { FOREIGN_CRDS, kubeTools } from '../support/kube-tools.ts';
import { until } from '../support/until.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const NAMESPACE = 'slipway';
const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/releasechannels.slipway.dev';
const ESTABLISHED = ['customresourcedefinitions', '--for=condition=Established', '--timeout=290s', '--all'];
const PUBLIC_BASE_URL = 'https://resources.example.org';

const programs = kubeTools('etcd', 'kube-apiserver', 'helm', 'helm3', 'kubectl', ...FOREIGN_CRDS);

const TEMPLATE = ['template', 'test', CHART, '--namespace', NAMESPACE, '--values', '-'];

const inputOf = (values: object): string =>
  stringify({ publicBaseUrl: PUBLIC_BASE_URL, secrets: { generate: true }, ...values });

/** Objects in order of kind and name, without the keys and tokens that each run makes. */
function comparable(objects: readonly KubeObject[]): unknown[] {
  return objects
    .map((object) =>
      object.kind === 'Secret' ? { ...object, data: Object.keys(object.data ?? {}) } : object,
    )
    .sort((left, right) => byText([left.kind, left.metadata], [right.kind, right.metadata]));
}

/** Kinds of a sample whose schemas no registry here has. */
const KINDS_OF_GKE = [
  ['HealthCheckPolicy', 'healthcheckpolicies'],
  ['GCPBackendPolicy', 'gcpbackendpolicies'],
] as const;

/** A definition of networking.gke.io that takes any object. */
function openDefinition(kind: string, plural: string): object {
  const group = 'networking.gke.io';
  const openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  return {
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase() },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  };
}

/** The rule of a policy that lets pods ask for names. */
const DNS = {
  ports: [53, 5353].flatMap((port) => ['UDP', 'TCP'].map((protocol) => ({ port, protocol }))),
};

/** The volumes of a pod of this workload: a StatefulSet adds its claims. */
function volumesOf({ template, volumeClaimTemplates = [] }: KubeObject['spec']): object[] {
  const claims = volumeClaimTemplates.map(({ metadata: { name } }: KubeObject) => ({
    name,
    persistentVolumeClaim: { claimName: name },
  }));
  return [...template.spec.volumes, ...claims];
}

const byText = (left: unknown, right: unknown): number =>
  JSON.stringify(left) < JSON.stringify(right) ? -1 : 1;

/** The schema behind each configuration file. */
const SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  'daemon.yaml': daemonConfigurationSchema,
  'server.yaml': serverConfigurationSchema,
  'operator.yaml': operatorConfigurationSchema,
};

describe.skipIf(programs === null)('the chart', () => {
  const { helm, helm3, kubectl } = programs ?? { helm: '', helm3: '', kubectl: '' };
  let home = '';
  let cluster: KubeControlPlane;
  const rendered = new Map<string, KubeObject[]>();

  const render = (values: object, ...args: readonly string[]): ProgramRun =>
    runHelm(helm, [...TEMPLATE, ...args], { home, input: inputOf(values) });
  const renderedNow = (values: object): KubeObject[] => {
    const run = render(values);
    expect(run.stderr).toBe('');
    return parseObjects(run.stdout);
  };
  /** What is rendered from values; the same values are rendered once. */
  const objectsOf = (values: object): KubeObject[] =>
    structuredClone(rendered.getOrInsertComputed(JSON.stringify(values), () => renderedNow(values)));
  const release = (...args: readonly string[]): string => {
    const run = runHelm(helm, [...args, '--namespace', 'kept'], { home, kubeconfig: cluster.kubeconfig });
    expect(run.stderr).toBe('');
    expect(run.code).toBe(0);
    return run.stdout;
  };
  /** Whoever installs next is to own it. */
  const deleteDefinition = async (): Promise<void> => {
    await cluster.request('DELETE', CRD);
    await until(async () => (await cluster.request('GET', CRD)).status === 404);
  };
  const secret = async (name: string): Promise<Record<string, string>> => {
    const { status, body } = await cluster.request('GET', `/api/v1/namespaces/kept/secrets/${name}`);
    expect(status).toBe(200);
    return (body as { data: Record<string, string> }).data;
  };

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'slipway-chart-'));
    const started = await startKubeControlPlane();
    if (started === null || programs === null) throw new Error('the control plane is missing');
    cluster = started;
    for (const [name, level] of [
      [NAMESPACE, 'restricted'],
      ['kept', 'restricted'],
    ]) {
      const labels = {
        'pod-security.kubernetes.io/enforce': level,
        'pod-security.kubernetes.io/warn': level,
      };
      const { status } = await cluster.request('POST', '/api/v1/namespaces', {
        body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } },
      });
      expect(status).toBe(201);
    }
    const files = FOREIGN_CRDS.map((name) => programs[name]);
    const args = ['apply', '--server-side', ...files.flatMap((file) => ['-f', file])];
    const run = spawnSync(kubectl, args, {
      encoding: 'utf8',
      env: { ...process.env, KUBECONFIG: cluster.kubeconfig },
    });
    expect(run.stderr).toBe('');
    for (const [kind, plural] of KINDS_OF_GKE) {
      const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
      const { status } = await cluster.request('POST', path, { body: openDefinition(kind, plural) });
      expect(status).toBe(201);
    }
    spawnSync(kubectl, ['wait', ...ESTABLISHED], { env: { ...process.env, KUBECONFIG: cluster.kubeconfig } });
  });

  afterAll(async () => {
    await cluster?.stop();
    await rm(home, { recursive: true, force: true });
  });

  describe.each(Object.entries(CHART_VALUES))('with %s', (_, values) => {
    it('passes helm lint', () => {
      const run = runHelm(helm, ['lint', '--strict', CHART, '--values', '-'], {
        home,
        input: stringify({ publicBaseUrl: PUBLIC_BASE_URL, ...values }),
      });
      expect(run.stdout).toContain('0 chart(s) failed');
      expect(run.code).toBe(0);
    });

    it('is accepted by a real API server without a warning, under the restricted Pod Security Standard', () => {
      const objects = objectsOf(values);
      const templates = objects.filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet');
      expect(templates.length).toBeGreaterThan(0);
      // Pod security rejects pods, not the objects that create them.
      const pods = templates.map(({ metadata, spec }) => ({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { ...spec.template.metadata, name: `${metadata.name}-as-a-pod`, namespace: NAMESPACE },
        spec: { ...spec.template.spec, volumes: volumesOf(spec) },
      }));
      const run = spawnSync(
        kubectl,
        [
          'apply',
          '--server-side',
          '--dry-run=server',
          '--validate=strict',
          '--namespace',
          NAMESPACE,
          '-f',
          '-',
        ],
        {
          encoding: 'utf8',
          input: [...objects, ...pods].map((object) => JSON.stringify(object)).join('\n'),
          env: { ...process.env, KUBECONFIG: cluster.kubeconfig, HOME: home },
        },
      );
      expect(run.stderr).toBe('');
      expect(run.stdout.trim().split('\n')).toHaveLength(objects.length + pods.length);
    });

    it('is the same with Helm 3', () => {
      const run = runHelm(helm3, [...TEMPLATE, '--kube-version', '1.29.0'], { home, input: inputOf(values) });
      expect(run.stderr).toBe('');
      expect(comparable(parseObjects(run.stdout))).toEqual(comparable(objectsOf(values)));
    });

    it('names no port of a NetworkPolicy, as some network plugins know numbers alone', () => {
      const policies = objectsOf(values).filter(({ kind }) => kind === 'NetworkPolicy');
      expect(JSON.stringify(policies)).not.toMatch(/"port":"/);
    });

    it('gives every program a configuration that it accepts', () => {
      const files = objectsOf(values).flatMap(({ kind, data }) =>
        kind === 'ConfigMap' ? Object.entries(data ?? {}).filter(([name]) => name in SCHEMAS) : [],
      );
      expect(files.length).toBeGreaterThan(1);
      for (const [name, text] of files) {
        expect(SCHEMAS[name]?.safeParse(parse(text)), name).toMatchObject({ success: true });
      }
    });
  });

  it.each(REFUSED_VALUES)('refuses %s and says what to do', (_, values, advice) => {
    const run = render(values);
    expect(run.code).not.toBe(0);
    expect(run.stderr).toMatch(advice);
  });

  it('changes no number on its way into the configuration', () => {
    const { data = {} } =
      objectsOf(CHART_VALUES['an upstream over HTTP and every setting of size'] ?? {}).find(
        ({ kind }) => kind === 'ConfigMap',
      ) ?? {};
    const daemon = daemonConfigurationSchema.parse(parse(data['daemon.yaml'] ?? ''));
    const server = serverConfigurationSchema.parse(parse(data['server.yaml'] ?? ''));
    expect([daemon.snapshot.reserveBytes, daemon.upstream.maxFileBytes, server.cache.blockBytes]).toEqual([
      1_125_899_906_842_624, 17_179_869_184, 268_435_456,
    ]);
  });

  it('lets the daemon write the snapshot volume, and the server only read it', () => {
    const deployment = objectsOf({}).find(({ kind }) => kind === 'Deployment');
    if (deployment === undefined) throw new Error('there is no Deployment');
    const { initContainers, containers } = deployment.spec.template.spec as {
      initContainers: Array<{ name: string; restartPolicy: string; volumeMounts: Mount[] }>;
      containers: Array<{ name: string; volumeMounts: Mount[] }>;
    };
    interface Mount {
      readonly name: string;
      readonly readOnly?: boolean;
    }
    const writable = (mounts: readonly Mount[]): string[] =>
      mounts.filter(({ readOnly }) => readOnly !== true).map(({ name }) => name);
    expect(initContainers.map(({ name, restartPolicy }) => [name, restartPolicy])).toEqual([
      ['daemon', 'Always'],
    ]);
    expect(writable(initContainers[0]?.volumeMounts ?? [])).toEqual(['snapshot', 'data', 'pair', 'tmp']);
    expect(writable(containers[0]?.volumeMounts ?? [])).toEqual(['state']);
    // The private key and the databases are not mounted.
    expect(containers[0]?.volumeMounts.map(({ name }) => name)).toEqual([
      'config',
      'trusted',
      'admin',
      'snapshot',
      'state',
      'pair',
    ]);
  });

  it('lets daemon and server share a token on a volume of their pod alone, that is never on a disk', () => {
    const objects = objectsOf({});
    const settings = objects.find(({ data }) => data?.['daemon.yaml'] !== undefined)?.data ?? {};
    const { tokenFile, requireToken } = parse(settings['daemon.yaml'] ?? '') as Record<string, unknown>;
    const { daemon } = parse(settings['server.yaml'] ?? '') as { daemon: { tokenFile: string } };
    expect([tokenFile, requireToken, daemon.tokenFile]).toEqual([
      '/var/lib/slipway/pair/api.token',
      true,
      '/var/lib/slipway/pair/api.token',
    ]);
    const spec = objects.find(({ kind }) => kind === 'Deployment')?.spec.template.spec;
    const mountOf = (container: { volumeMounts: Array<{ mountPath: string }> } | undefined): unknown =>
      container?.volumeMounts.find(({ mountPath }) => mountPath === '/var/lib/slipway/pair');
    expect(mountOf(spec?.initContainers[0])).toEqual({ name: 'pair', mountPath: '/var/lib/slipway/pair' });
    expect(mountOf(spec?.containers[0])).toMatchObject({ name: 'pair', readOnly: true });
    expect(spec?.volumes.find(({ name }: { name: string }) => name === 'pair')).toEqual({
      name: 'pair',
      emptyDir: { medium: 'Memory', sizeLimit: '1Mi' },
    });
  });

  it('gives a pod more time to end than both programs need one after the other', () => {
    const grace = (shutdown: object): number =>
      objectsOf({ server: { config: { shutdown } } }).find(({ kind }) => kind === 'Deployment')?.spec.template
        .spec.terminationGracePeriodSeconds as number;
    expect(grace({})).toBe(90);
    expect(grace({ propagationDelaySeconds: 7.5, drainSeconds: 120 })).toBe(183);
  });

  it('lets the pods of an upgrade overlap on one node, where the claims allow it', () => {
    const podsOf = (values: object): { readonly strategy: unknown; readonly affinity: unknown } => {
      const { spec } = objectsOf(values).find(({ kind }) => kind === 'Deployment') ?? {};
      return { strategy: spec.strategy, affinity: spec.template.spec.affinity };
    };
    const rolling = { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } };
    const own = {
      topologyKey: 'kubernetes.io/hostname',
      labelSelector: {
        matchLabels: {
          'app.kubernetes.io/name': 'slipway',
          'app.kubernetes.io/instance': 'test',
          'app.kubernetes.io/component': 'server',
        },
      },
    };
    const together = { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [own] } };
    const preferring = {
      preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm: own }],
    };
    const apart = { podAntiAffinity: preferring };
    expect(podsOf({})).toEqual({ strategy: rolling, affinity: together });
    const modes = { snapshot: { accessModes: ['ReadWriteMany'] }, data: { existingClaim: 'mine' } };
    expect(podsOf({ storage: modes })).toEqual({ strategy: rolling, affinity: together });
    const many = { accessModes: ['ReadWriteMany'] };
    const shared = { snapshot: many, data: many };
    expect(podsOf({ storage: shared })).toEqual({ strategy: rolling, affinity: { podAffinity: preferring } });
    expect(podsOf({ storage: shared, localization: { enabled: true } }).affinity).toEqual(together);
    expect(podsOf({ storage: { kind: 'emptyDir' } })).toEqual({ strategy: rolling, affinity: apart });
    const recreated = { strategy: { type: 'Recreate' }, affinity: apart };
    expect(podsOf({ storage: { overlap: false } })).toEqual(recreated);
    for (const part of ['snapshot', 'data']) {
      expect(podsOf({ storage: { [part]: { accessModes: ['ReadWriteOncePod'] } } })).toEqual(recreated);
    }
    const exchange = { enabled: true, exchange: { accessModes: ['ReadWriteOncePod'] } };
    expect(podsOf({ localization: exchange })).toEqual(recreated);

    const near = { topologyKey: 'zone', labelSelector: { matchLabels: { app: 'upstream' } } };
    const node = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } };
    const preferred = [{ weight: 1, podAffinityTerm: near }];
    const affinity = {
      nodeAffinity: node,
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [near],
        preferredDuringSchedulingIgnoredDuringExecution: preferred,
      },
    };
    expect(podsOf({ pod: { affinity } }).affinity).toEqual({
      nodeAffinity: node,
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [near, own],
        preferredDuringSchedulingIgnoredDuringExecution: preferred,
      },
    });
    expect(podsOf({ storage: { overlap: false }, pod: { affinity } }).affinity).toEqual(affinity);
    const removed = { requiredDuringSchedulingIgnoredDuringExecution: null };
    for (const empty of [null, { podAffinity: null }, { podAffinity: removed }]) {
      expect(podsOf({ pod: { affinity: empty } }).affinity).toEqual(together);
    }
  });

  it('accepts pods that are kept from each other where those of an upgrade need not be on one node', () => {
    const term = {
      topologyKey: 'kubernetes.io/hostname',
      labelSelector: { matchLabels: { 'app.kubernetes.io/name': 'slipway' } },
    };
    const keptFrom = (...terms: readonly object[]): object => ({
      affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } },
    });
    const many = { accessModes: ['ReadWriteMany'] };
    for (const storage of [{ overlap: false }, { kind: 'emptyDir' }, { snapshot: many, data: many }]) {
      objectsOf({ storage, pod: keptFrom(term) });
      objectsOf({ storage, pod: { template: { spec: { hostNetwork: true } } } });
    }
    const others = [
      { labelSelector: { matchLabels: { 'app.kubernetes.io/name': 'redis' } } },
      { labelSelector: { matchExpressions: [{ key: 'app.kubernetes.io/name', operator: 'DoesNotExist' }] } },
      { namespaces: ['other'] },
      { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'other' } } },
      { matchLabelKeys: ['pod-template-hash'] },
    ].map((other) => ({ ...term, ...other }));
    objectsOf({ pod: keptFrom(...others) });
    objectsOf({
      pod: { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: null } } },
    });
  });

  it('leads people to pods that are not ready, and clients only to ready ones', () => {
    const objects = objectsOf({
      ingress: { enabled: true, admin: true },
      httpRoute: { enabled: true, admin: true, parentRefs: [{ name: 'public' }] },
    });
    const services = objects.filter(({ kind }) => kind === 'Service');
    const published = services.filter(({ spec }) => spec.publishNotReadyAddresses === true);
    expect(services.map(({ metadata }) => metadata.name).sort()).toEqual([
      'test-slipway',
      'test-slipway-admin',
      'test-slipway-metrics',
    ]);
    expect(published.map(({ metadata }) => metadata.name).sort()).toEqual([
      'test-slipway-admin',
      'test-slipway-metrics',
    ]);
    const routes = JSON.stringify(
      objects.filter(({ kind }) => ['Ingress', 'HTTPRoute'].includes(kind)).map(({ spec }) => spec.rules),
    );
    expect(routes.match(/"test-slipway-admin"/g)).toHaveLength(2);
    expect(routes.match(/"\/admin"/g)).toHaveLength(2);
    const closed = objectsOf({ ingress: { enabled: true } }).filter(({ kind }) => kind === 'Ingress');
    expect(JSON.stringify(closed)).not.toContain('admin"');
  });

  it('sends the probes of the server to the metrics port, which clients cannot fill', () => {
    const container = objectsOf({}).find(({ kind }) => kind === 'Deployment')?.spec.template.spec
      .containers[0];
    const probes = ['startupProbe', 'livenessProbe', 'readinessProbe'].map((name) => container[name].httpGet);
    expect(probes).toEqual([
      { path: '/healthz', port: 'metrics' },
      { path: '/healthz', port: 'metrics' },
      { path: '/readyz', port: 'metrics' },
    ]);
  });

  it('keeps a pod from link-local addresses, where clouds serve credentials, except for DNS', () => {
    const egressOf = (networkPolicy: object): unknown[] =>
      objectsOf({ networkPolicy }).find(({ kind }) => kind === 'NetworkPolicy')?.spec.egress as unknown[];
    const [dns, upstream, ...rest] = egressOf({}) as Array<Record<string, unknown>>;
    expect(rest).toEqual([]);
    expect(dns).toEqual(DNS);
    expect(upstream?.['to']).toEqual([
      { namespaceSelector: {} },
      { ipBlock: { cidr: '0.0.0.0/0', except: ['169.254.0.0/16'] } },
      { ipBlock: { cidr: '::/0', except: ['fe80::/10', 'fd00:ec2::254/128'] } },
    ]);
    const [, open] = egressOf({ egressExcept: ['168.63.129.16/32'] }) as Array<Record<string, unknown>>;
    expect(open?.['to']).toEqual([
      { namespaceSelector: {} },
      { ipBlock: { cidr: '0.0.0.0/0', except: ['168.63.129.16/32'] } },
      { ipBlock: { cidr: '::/0' } },
    ]);
  });

  it('lets the daemon reach its providers, and nothing else where peers are named', () => {
    const rulesOf = (values: object): unknown =>
      objectsOf(values)
        .find(({ kind }) => kind === 'NetworkPolicy')
        ?.spec.egress.slice(1);
    const values = CHART_VALUES['localization with files, secrets, a provider and an exchange volume'] as {
      readonly localization: object;
    };
    const tcp = (...ports: readonly number[]): object[] => ports.map((port) => ({ port, protocol: 'TCP' }));
    const upstream = [{ ipBlock: { cidr: '198.51.100.0/24' } }];
    expect(rulesOf({ ...values, networkPolicy: { egressPorts: [443], egressTo: upstream } })).toEqual([
      { ports: tcp(443), to: upstream },
      { ports: tcp(8443, 80), to: [{ ipBlock: { cidr: '203.0.113.7/32' } }] },
    ]);
    const open = { ...values, localization: { ...values.localization, providerPeers: [] } };
    expect(rulesOf(open)).toMatchObject([{ ports: tcp(80, 443, 8443) }]);
    // Without an address, a preset has its own: a vendor's, or one in the pod.
    const rulesOfPresets = (names: readonly string[]): unknown => {
      const presets = names.map((preset) => [preset, { kind: 'openai', preset, model: 'm' }]);
      const providers = Object.fromEntries([...presets, ['none', { kind: 'memory-only' }]]) as object;
      return rulesOf({
        networkPolicy: { egressPorts: [] },
        localization: { enabled: true },
        daemon: { config: { translation: { providers } } },
      });
    };
    const local = Object.entries(PROVIDER_PRESETS).filter(([, { url }]) => url?.startsWith('http://127.'));
    expect(rulesOfPresets(local.map(([name]) => name))).toEqual([]);
    expect(rulesOfPresets(['gemini'])).toMatchObject([{ ports: tcp(443) }]);
  });

  it('lets the daemon reach every kind of upstream over a network, and what stands before it', () => {
    const portsOf = (daemon: object): number[] => {
      const policy = objectsOf({ daemon, networkPolicy: { egressPorts: [] } }).find(
        ({ kind }) => kind === 'NetworkPolicy',
      );
      const [, upstream] = (policy?.spec.egress ?? []) as Array<{ ports: Array<{ port: number }> }>;
      return (upstream?.ports ?? []).map(({ port }) => port);
    };
    const needed = { oci: { repository: 'r', tags: ['official'], trustedKeys: ['/k'] } } as const;
    const remote = Object.entries(UPSTREAM_KINDS).filter(([, { setting }]) => setting === 'url');
    expect(remote.length).toBeGreaterThan(3);
    for (const [kind, { section }] of remote) {
      const more = section === 'oci' ? needed.oci : {};
      const upstream = { kind, [section]: { url: 'http://u.example.org:8123', ...more } };
      expect(portsOf({ config: { upstream } }), kind).toEqual([8123]);
    }
    const plain = { kind: 'manifest', manifest: { url: 'http://u.example.org' } };
    expect(portsOf({ config: { upstream: plain } })).toEqual([80]);
    const { daemon } = CHART_VALUES[
      'a port of its own, a proxy, and a registry with a token service elsewhere'
    ] as { readonly daemon: object };
    expect(portsOf(daemon)).toEqual([5000, 5001, 3128]);
  });

  it('gives a server another port, and tells all who reach it', () => {
    const objects = objectsOf(
      CHART_VALUES['a port of its own, a proxy, and a registry with a token service elsewhere'] ?? {},
    );
    const ofKind = (...kinds: readonly string[]): KubeObject[] =>
      objects.filter(({ kind }) => kinds.includes(kind));
    const listening = ofKind('Deployment', 'StatefulSet').map(({ metadata, spec }) => [
      metadata.name,
      spec.template.spec.containers[0].ports[0].containerPort,
    ]);
    expect(new Map(listening as Array<[string, number]>)).toEqual(
      new Map([
        ['test-slipway', 8000],
        ['test-slipway-operator', 8081],
        ['test-slipway-edge', 8001],
      ]),
    );
    // slipway ctl in the container of the server.
    const origin = ofKind('Deployment').find(({ metadata }) => metadata.name === 'test-slipway');
    expect(origin?.spec.template.spec.containers[0].env).toContainEqual({
      name: 'SLIPWAY_CTL_URL',
      value: 'http://127.0.0.1:8000',
    });
    const rules = new Map(ofKind('NetworkPolicy').map(({ metadata, spec }) => [metadata.name, spec]));
    const portsOf = (rule: { ports: Array<{ port: number }> }): number[] =>
      rule.ports.map(({ port }) => port);
    expect(portsOf(rules.get('test-slipway').ingress[0])).toEqual([8000]);
    expect(portsOf(rules.get('test-slipway').ingress[2])).toEqual([15_008]);
    expect(portsOf(rules.get('test-slipway-edge').ingress[0])).toEqual([8001]);
    expect(portsOf(rules.get('test-slipway-edge').egress[1])).toEqual([8000]);
    expect(portsOf(rules.get('test-slipway-operator').egress[1])).toEqual([8080, 8000, 8001]);
  });

  it('cuts off no download in a route, and lets values override timeouts and path types', () => {
    const specOf = (wanted: string, values: object): { readonly rules: unknown[] } =>
      objectsOf(values).find(({ kind }) => kind === wanted)?.spec as { rules: unknown[] };
    const own = CHART_VALUES[
      'an Ingress whose controller refuses dots, and a route with the timeouts of its Gateway'
    ] as { readonly httpRoute: object; readonly ingress: object };
    const { timeouts: _timeouts, ...route } = own.httpRoute as { readonly timeouts: object };
    const { rules } = specOf('HTTPRoute', { httpRoute: route });
    expect(rules.map((rule) => (rule as { timeouts?: unknown }).timeouts)).toEqual([
      { request: '0s' },
      { request: '0s' },
    ]);
    expect(JSON.stringify(specOf('HTTPRoute', own))).not.toContain('timeouts');
    const typesOf = (values: object): Set<string> =>
      new Set(
        [...JSON.stringify(specOf('Ingress', values)).matchAll(/"pathType":"(\w+)"/g)].map(
          ([, type = '']) => type,
        ),
      );
    expect(typesOf({ ingress: { enabled: true } })).toEqual(new Set(['Prefix', 'Exact']));
    expect(typesOf(own)).toEqual(new Set(['ImplementationSpecific']));
  });

  it('writes the annotations of the user on every object, and keeps its own', () => {
    const objects = objectsOf(CHART_VALUES['annotations on every object'] ?? {});
    expect(new Set(objects.map(({ kind }) => kind)).size).toBeGreaterThan(15);
    for (const { kind, metadata } of objects) {
      expect(metadata.annotations, `${kind} ${metadata.name}`).toMatchObject({
        'example.org/owner': 'games',
      });
      // What an uninstall keeps is not for a value of all objects to say.
      const isKept = ['Secret', 'PersistentVolumeClaim', 'CustomResourceDefinition'].includes(kind);
      expect(metadata.annotations?.['helm.sh/resource-policy'], kind).toBe(isKept ? 'keep' : 'delete');
    }
    const test = objects.find(({ kind }) => kind === 'Pod');
    expect(test?.metadata.annotations).toMatchObject({ 'helm.sh/hook': 'test', 'example.org/test': 'a' });
    expect(test?.metadata.labels).toMatchObject({ 'sidecar.istio.io/inject': 'false' });
  });

  it('fits into a namespace with a quota and a range of limits, where the values say so', async () => {
    const path = '/api/v1/namespaces/narrow';
    const make = async (at: string, body: object): Promise<void> => {
      expect((await cluster.request('POST', at, { body })).status).toBe(201);
    };
    await make('/api/v1/namespaces', { metadata: { name: 'narrow' } });
    await make(`${path}/serviceaccounts`, { metadata: { name: 'default' } });
    const hard = Object.fromEntries(
      ['requests', 'limits'].flatMap((kind) =>
        ['cpu', 'memory', 'ephemeral-storage'].map((what) => [`${kind}.${what}`, '100Gi']),
      ),
    );
    await make(`${path}/limitranges`, {
      metadata: { name: 'narrow' },
      spec: { limits: [{ type: 'Container', maxLimitRequestRatio: { cpu: '1', memory: '1' } }] },
    });
    await make(`${path}/resourcequotas`, { metadata: { name: 'narrow' }, spec: { hard } });
    // A controller would write it.
    const used = Object.fromEntries(Object.keys(hard).map((name) => [name, '0']));
    const { body: quota } = await cluster.request('GET', `${path}/resourcequotas/narrow`);
    const written = await cluster.request('PUT', `${path}/resourcequotas/narrow/status`, {
      body: { ...(quota as object), status: { hard, used } },
    });
    expect(written.status).toBe(200);
    const errorsOf = (values: object): string => {
      const pods = objectsOf(values).flatMap(({ kind, metadata, spec }) => {
        const pod = kind === 'Pod' ? spec : spec?.template?.spec;
        const { serviceAccountName: _account, ...rest } = pod ?? {};
        const at = { name: metadata.name, namespace: 'narrow' };
        return pod?.containers === undefined
          ? []
          : [
              {
                apiVersion: 'v1',
                kind: 'Pod',
                metadata: at,
                spec: { ...rest, volumes: volumesOfPod(pod, spec) },
              },
            ];
      });
      expect(pods.length).toBeGreaterThan(1);
      return spawnSync(kubectl, ['create', '--dry-run=server', '-f', '-'], {
        encoding: 'utf8',
        input: pods.map((pod) => JSON.stringify(pod)).join('\n'),
        env: { ...process.env, KUBECONFIG: cluster.kubeconfig, HOME: home },
      }).stderr;
    };
    const volumesOfPod = (pod: { volumes?: object[] }, spec: KubeObject['spec']): object[] =>
      spec.template === undefined ? (pod.volumes ?? []) : volumesOf(spec);
    await until(() =>
      /must specify limits\.cpu|maxLimitRequestRatio|limit to request ratio/.test(errorsOf({})),
    );
    expect(errorsOf(CHART_VALUES['all that a quota demands'] ?? {})).toBe('');
  });

  it('lets the daemon of an edge reach its origin, and gives it only the public key of that', () => {
    const objects = objectsOf(CHART_VALUES['edges that scale, each with a claim of its own'] ?? {});
    const policy = objects.find(({ kind }) => kind === 'NetworkPolicy');
    const [, toOrigin] = (policy?.spec.egress ?? []) as Array<{ ports: unknown[] }>;
    expect(toOrigin?.ports).toContainEqual({
      port: 8080,
      protocol: 'TCP',
    });
    const volumes = objects
      .filter(({ kind }) => kind === 'Deployment')
      .flatMap(({ spec }) => (spec.template.spec.volumes ?? []) as Array<{ name: string }>);
    const key = volumes.find(({ name }) => name === 'origin-key');
    expect(key).toMatchObject({ secret: { items: [{ key: 'signing.pub' }] } });
  });

  describe('edges', () => {
    const BESIDE = CHART_VALUES['edges beside their origin, and an Ingress that leads to them'] ?? {};
    const OWN =
      CHART_VALUES['edges that scale by processor time and bytes, with settings of their own'] ?? {};
    const DISKS = CHART_VALUES['edges on the disks of their nodes, behind a Gateway'] ?? {};
    const find = (objects: readonly KubeObject[], kind: string, name: string): KubeObject => {
      const found = objects.filter((object) => object.kind === kind && object.metadata.name === name);
      if (found[0] === undefined || found.length > 1)
        throw new Error(`${found.length} objects ${kind} ${name}`);
      return found[0];
    };
    const settingsOf = (objects: readonly KubeObject[], name: string, file: string): unknown =>
      SCHEMAS[file]?.parse(parse(find(objects, 'ConfigMap', name).data?.[file] ?? ''));
    const originLabels = {
      'app.kubernetes.io/name': 'slipway',
      'app.kubernetes.io/instance': 'test',
      'app.kubernetes.io/component': 'server',
    };

    it('are absent unless they are enabled', () => {
      expect(render({}).stdout).not.toContain('component: edge');
    });

    it('follow the origin also while it is not ready, and trust its public keys', () => {
      const objects = objectsOf(BESIDE);
      const daemon = settingsOf(objects, 'test-slipway-edge', 'daemon.yaml') as {
        readonly upstream: { readonly kind: string; readonly slipway: object };
      };
      expect(daemon.upstream.kind).toBe('slipway');
      expect(daemon.upstream.slipway).toMatchObject({
        url: 'http://test-slipway-admin.slipway.svc',
        trustedKeys: ['/etc/slipway/origin/signing.pub'],
      });
      const { publishNotReadyAddresses, selector } = find(objects, 'Service', 'test-slipway-admin').spec;
      expect([publishNotReadyAddresses, selector]).toEqual([true, originLabels]);
    });

    it('have a Service and a disruption budget of their own, and the Ingress leads to them', () => {
      const objects = objectsOf(BESIDE);
      const labelled = (name: string, value: string): unknown[] =>
        objects
          .filter(({ metadata }) => metadata.labels?.[name] === value)
          .map(({ kind, metadata }) => `${kind} ${metadata.name}`);
      // By these, kubectl slipway finds the origin alone, and the tokens of both.
      expect(labelled('app.kubernetes.io/component', 'admin')).toEqual(['Service test-slipway-admin']);
      expect(labelled('slipway.dev/admin-token', 'true')).toEqual([
        'Secret test-slipway-admin',
        'Secret test-slipway-edge-admin',
      ]);
      const edgeLabels = { ...originLabels, 'app.kubernetes.io/component': 'edge' };
      expect(find(objects, 'Service', 'test-slipway-edge').spec.selector).toEqual(edgeLabels);
      expect(find(objects, 'Service', 'test-slipway').spec.selector).toEqual(originLabels);
      expect(find(objects, 'PodDisruptionBudget', 'test-slipway-edge').spec).toMatchObject({
        selector: { matchLabels: edgeLabels },
        maxUnavailable: 1,
      });
      const [rule] = (objects.find(({ kind }) => kind === 'Ingress')?.spec.rules ?? []) as Array<{
        http: { paths: Array<{ path: string; backend: { service: { name: string } } }> };
      }>;
      const elsewhere = rule?.http.paths.filter(
        ({ backend }) => backend.service.name !== 'test-slipway-edge',
      );
      // The origin is reached for control alone.
      expect(elsewhere?.map(({ path, backend }) => [path, backend.service.name])).toEqual([
        ['/admin', 'test-slipway-admin'],
      ]);
    });

    it('hand a limit of a token of the origin through to its server', () => {
      const limits = { requestsPerSecond: 50, burst: 100, concurrentRequests: 16 };
      const tokens = [{ file: '/etc/slipway/readers/edges', id: 'edges', limits }];
      const values = { server: { config: { auth: { public: 'open', tokens } } } };
      const settings = settingsOf(objectsOf(values), 'test-slipway', 'server.yaml');
      expect(settings).toMatchObject({ auth: { tokens } });
    });

    it('have an origin that announces its releases, unless its values say otherwise', () => {
      const seconds = (values: object, name = 'test-slipway'): unknown =>
        (settingsOf(objectsOf(values), name, 'daemon.yaml') as { releases: { announceSeconds: number } })
          .releases.announceSeconds;
      const settings = (releases: object): object => ({ ...BESIDE, daemon: { config: { releases } } });
      expect(seconds(BESIDE)).toBe(300);
      expect(seconds(settings({ switchLeadSeconds: 30 }))).toBe(300);
      expect(seconds(settings({ announceSeconds: 0 }))).toBe(0);
      expect(seconds(settings({ announceSeconds: 900 }))).toBe(900);
      // An edge follows the announcements of its origin.
      expect(seconds(BESIDE, 'test-slipway-edge')).toBe(0);
      expect(seconds({ ...BESIDE, edge: { enabled: false }, ingress: { enabled: false } })).toBe(0);
    });

    it('link to the runbooks of the alerts, as their origin does, unless its values say otherwise', () => {
      const runbooks = (values: object, name: string): unknown =>
        (
          settingsOf(objectsOf({ ...BESIDE, ...values }), name, 'server.yaml') as {
            runbooks: { url: string };
          }
        ).runbooks.url;
      const alerts = { prometheusRule: { runbookUrl: 'https://wiki.example.org/books' } };
      const own = { ...alerts, server: { config: { runbooks: { url: 'https://help.example.org/' } } } };
      for (const name of ['test-slipway', 'test-slipway-edge']) {
        expect(runbooks({}, name)).toBe('/admin/dashboard/runbooks/');
        expect(runbooks(alerts, name)).toBe('https://wiki.example.org/books/');
        expect(runbooks(own, name)).toBe('https://help.example.org/');
      }
    });

    it('have keys and tokens of their own, and of the origin no private key', () => {
      const { spec } = find(objectsOf(BESIDE), 'StatefulSet', 'test-slipway-edge').spec.template;
      const volumes = spec.volumes as Array<{ name: string; secret?: { secretName: string } }>;
      const secrets = Object.fromEntries(
        volumes.flatMap(({ name, secret: from }) => (from === undefined ? [] : [[name, from.secretName]])),
      );
      expect(secrets).toEqual({
        signing: 'test-slipway-edge-signing',
        trusted: 'test-slipway-edge-signing',
        admin: 'test-slipway-edge-admin',
      });
      expect(volumes.find(({ name }) => name === 'origin')).toMatchObject({
        projected: {
          sources: [
            {
              secret: { name: 'test-slipway-signing', items: [{ key: 'signing.pub', path: 'signing.pub' }] },
            },
          ],
        },
      });
      const mounts = (container: { volumeMounts: Array<{ name: string }> }): string[] =>
        container.volumeMounts.map(({ name }) => name);
      expect(mounts(spec.initContainers[0])).toContain('origin');
      expect(mounts(spec.containers[0])).not.toContain('origin');
    });

    it('give the token of a closed origin to the daemon alone', () => {
      const objects = objectsOf(OWN);
      const name = 'a-name-of-a-release-that-is-as-long-as-it-may-edge';
      const daemon = settingsOf(objects, name, 'daemon.yaml') as { upstream: { slipway: object } };
      expect(daemon.upstream.slipway).toMatchObject({
        tokenFile: '/etc/slipway/origin/token/value',
        pollSeconds: 2,
      });
      const { volumes } = find(objects, 'StatefulSet', name).spec.template.spec;
      const origin = volumes.find((volume: { name: string }) => volume.name === 'origin');
      expect(origin.projected.sources).toContainEqual({
        secret: { name: 'readers', items: [{ key: 'edges', path: 'token/value' }] },
      });
    });

    it('may reach their origin and nothing else, and their origin lets them', () => {
      const objects = objectsOf(OWN);
      const policies = objects.filter(({ kind }) => kind === 'NetworkPolicy');
      const [origin, edges] = policies.map(({ spec }) => spec);
      expect(edges.podSelector.matchLabels).toEqual({
        ...originLabels,
        'app.kubernetes.io/component': 'edge',
      });
      expect(edges.egress.slice(1)).toEqual([
        { ports: [{ port: 8080, protocol: 'TCP' }], to: [{ podSelector: { matchLabels: originLabels } }] },
      ]);
      expect(JSON.stringify(origin.ingress[0].from)).toContain('"edge"');
      const operator = objectsOf(DISKS).find(
        ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name.endsWith('-operator'),
      );
      expect(JSON.stringify(operator?.spec.egress[1])).toContain('"edge"');
    });

    it('serve under the paths and limits of the origin, and end when their downloads have', () => {
      const objects = objectsOf(OWN);
      const name = 'a-name-of-a-release-that-is-as-long-as-it-may-edge';
      const server = settingsOf(objects, name, 'server.yaml') as z.output<typeof serverConfigurationSchema>;
      expect([server.cdn.host, server.auth.public, server.shutdown.drainSeconds]).toEqual([
        'cdn.example.org',
        'token',
        900,
      ]);
      expect(server.admin.exposeControl).toBe(false);
      const { terminationGracePeriodSeconds } = find(objects, 'StatefulSet', name).spec.template.spec;
      expect(terminationGracePeriodSeconds).toBe(5 + 900 + 10 + 35 + 10);
    });

    it('get the requests of the Ingress and the HTTPRoute, and the origin those to /admin', () => {
      const paths = find(objectsOf(BESIDE), 'Ingress', 'test-slipway').spec.rules[0].http.paths as Array<{
        path: string;
        backend: { service: { name: string } };
      }>;
      for (const { path, backend } of paths) {
        expect(backend.service.name).toBe(path === '/admin' ? 'test-slipway-admin' : 'test-slipway-edge');
      }
      expect(paths.length).toBeGreaterThan(4);
      const { rules } = find(objectsOf(DISKS), 'HTTPRoute', 'test-slipway').spec;
      expect(rules[0].backendRefs).toEqual([{ name: 'test-slipway-edge', port: 8000 }]);
    });

    it('scale with the measured load, keep their claims, and are spread over zones', () => {
      const objects = objectsOf(OWN);
      const scaler = objects.find(({ kind }) => kind === 'HorizontalPodAutoscaler');
      expect(scaler?.spec).toMatchObject({
        scaleTargetRef: { kind: 'StatefulSet', name: 'a-name-of-a-release-that-is-as-long-as-it-may-edge' },
        minReplicas: 2,
        maxReplicas: 40,
        behavior: { scaleDown: { stabilizationWindowSeconds: 60 } },
      });
      expect(scaler?.spec.metrics).toEqual([
        {
          type: 'ContainerResource',
          containerResource: {
            name: 'cpu',
            container: 'server',
            target: { type: 'Utilization', averageUtilization: 70 },
          },
        },
        {
          type: 'Pods',
          pods: {
            metric: { name: 'slipway_sent_bytes_per_second' },
            target: { type: 'AverageValue', averageValue: '60M' },
          },
        },
      ]);
      const edges = find(objectsOf(BESIDE), 'StatefulSet', 'test-slipway-edge').spec;
      expect(edges).toMatchObject({
        replicas: 2,
        persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete', whenScaled: 'Retain' },
      });
      expect(edges.template.spec.topologySpreadConstraints).toMatchObject([
        { topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'ScheduleAnyway' },
      ]);
      const kinds = objectsOf(DISKS).map(({ kind, metadata }) => `${kind} ${metadata.name}`);
      expect(kinds).toContain('Deployment test-slipway-edge');
      expect(kinds).not.toContain('StatefulSet test-slipway-edge');
    });

    it('are watched by the alerts and monitors of the release, with the shorter of both lifetimes', () => {
      const rules = JSON.stringify(objectsOf(OWN).find(({ kind }) => kind === 'PrometheusRule')?.spec);
      expect(rules).toContain('|a-name-of-a-release-that-is-as-long-as-it-may-edge-metrics');
      expect(rules).toMatch(/ 240\b/);
      expect(rules).not.toMatch(/ 480\b/);
      const monitor = objectsOf(DISKS).find(({ kind }) => kind === 'PodMonitor');
      expect(JSON.stringify(monitor?.spec.selector)).toContain('"edge"');
    });

    it('have names of their own, however long that of the release is', () => {
      for (const values of [BESIDE, OWN, DISKS]) {
        const names = objectsOf(values).map(({ kind, metadata }) => `${kind}/${metadata.name}`);
        expect(new Set(names).size).toBe(names.length);
      }
    });
  });

  it('gives only the daemon the secrets, files and volume of localization, and memory for its processes', () => {
    interface Container {
      readonly volumeMounts: ReadonlyArray<{ readonly name: string; readonly readOnly?: boolean }>;
      readonly resources: { readonly limits: { readonly memory: string } };
    }
    const containersOf = (name: string): { readonly daemon: Container; readonly server: Container } => {
      const deployment = objectsOf(CHART_VALUES[name] ?? {}).find(({ kind }) => kind === 'Deployment');
      if (deployment === undefined) throw new Error('there is no Deployment');
      const { initContainers, containers } = deployment.spec.template.spec;
      return { daemon: initContainers[0], server: containers[0] };
    };
    const { daemon, server } = containersOf(
      'localization with files, secrets, a provider and an exchange volume',
    );
    const added = daemon.volumeMounts.filter(
      ({ name }) => !['config', 'signing', 'snapshot', 'data', 'pair', 'tmp'].includes(name),
    );
    expect(added.map(({ name, readOnly = false }) => [name, readOnly])).toEqual([
      ['exchange', false],
      ['localization', true],
      ['secrets', true],
    ]);
    expect(server.volumeMounts.map(({ name }) => name)).not.toContain('secrets');
    expect(daemon.resources.limits.memory).toBe('2Gi');
    expect(containersOf('the defaults').daemon.resources.limits.memory).toBe('1Gi');
  });

  it('indexes text only for localization, unless the settings say so', () => {
    const automaticOf = (values: object): unknown[] => {
      const map = objectsOf(values).find(({ kind, data }) => kind === 'ConfigMap' && data?.['daemon.yaml']);
      const {
        parse: texts,
        translation,
        exchange,
        backup,
      } = daemonConfigurationSchema.parse(parse(map?.data?.['daemon.yaml'] ?? ''));
      return [texts.automatic, translation.automatic, exchange.root, backup.folder];
    };
    const folders = ['/var/lib/slipway/exchange', '/var/lib/slipway/exchange/backups'];
    expect(automaticOf({})).toEqual([false, false, undefined, undefined]);
    expect(automaticOf({ localization: { enabled: true } })).toEqual([true, true, ...folders]);
    expect(automaticOf({ daemon: { config: { parse: { automatic: true } } } })).toEqual([
      true,
      false,
      undefined,
      undefined,
    ]);
    const own = CHART_VALUES['localization with volumes and files that already exist'] ?? {};
    expect(automaticOf(own)).toEqual([true, true, folders[0], '/var/lib/slipway/data/backups']);
  });

  it('gives the operator exactly the permissions it needs, in its configured namespaces', () => {
    const rolesOf = (operator: object): Array<readonly [string, string | undefined, unknown]> =>
      objectsOf({ admin: { exposeControl: true }, operator: { enabled: true, ...operator } })
        .filter(({ kind, metadata }) => kind.endsWith('Role') && !metadata.name.includes('-releasechannels-'))
        .map(({ kind, metadata, rules }) => [kind, metadata.namespace, rules] as const)
        .sort(byText);
    const election = ['Role', NAMESPACE, electionRules('test-slipway-operator')];
    const watched = watchedNamespaceRules(['test-slipway-admin']);
    expect(rolesOf({})).toEqual([election, ['Role', NAMESPACE, watched]]);
    expect(rolesOf({ namespaces: ['a', 'b'] })).toEqual([
      ['Role', 'a', watched],
      ['Role', 'b', watched],
      election,
    ]);
    expect(rolesOf({ namespaces: ['*'] })).toEqual([['ClusterRole', undefined, watched], election]);
  });

  it('lets the operator read the Secrets that the values name, and no other', () => {
    const secrets = objectsOf({
      admin: { exposeControl: true },
      operator: { enabled: true, namespaces: ['a'], tokenSecrets: ['one', 'two'] },
    })
      .filter(({ kind }) => kind === 'Role')
      .flatMap(({ rules }) => rules as ReturnType<typeof watchedNamespaceRules>)
      .filter(({ resources }) => resources.includes('secrets'));
    expect(secrets).toEqual([
      {
        apiGroups: [''],
        resources: ['secrets'],
        resourceNames: ['test-slipway-admin', 'one', 'two'],
        verbs: ['get'],
      },
    ]);
  });

  it('lets the operator reach DNS, servers and the Kubernetes API, and no link-local address', () => {
    const policy = objectsOf({ admin: { exposeControl: true }, operator: { enabled: true } }).find(
      ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name.endsWith('-operator'),
    );
    const { policyTypes, egress } = (policy?.spec ?? {}) as Readonly<Record<string, unknown[]>>;
    expect(policyTypes).toEqual(['Ingress', 'Egress']);
    const [dns, servers, api, ...rest] = egress ?? [];
    expect(rest).toEqual([]);
    expect(dns).toEqual(DNS);
    expect(servers).toEqual({
      ports: [{ port: 8080, protocol: 'TCP' }],
      to: [
        {
          namespaceSelector: {},
          podSelector: {
            matchExpressions: [
              { key: 'app.kubernetes.io/component', operator: 'In', values: ['server', 'edge'] },
            ],
          },
        },
      ],
    });
    expect(api).toEqual({
      ports: [
        { port: 443, protocol: 'TCP' },
        { port: 6443, protocol: 'TCP' },
      ],
      to: [
        { ipBlock: { cidr: '0.0.0.0/0', except: ['169.254.0.0/16'] } },
        { ipBlock: { cidr: '::/0', except: ['fe80::/10', 'fd00:ec2::254/128'] } },
      ],
    });
  });

  it('gives a Kubernetes token to the operator alone', () => {
    const pods = objectsOf({ admin: { exposeControl: true }, operator: { enabled: true } }).flatMap(
      ({ kind, metadata, spec }) =>
        kind === 'Deployment' || kind === 'Pod'
          ? [[metadata.name, (kind === 'Pod' ? spec : spec.template.spec).automountServiceAccountToken]]
          : [],
    );
    expect(pods.sort(byText)).toEqual([
      ['test-slipway', false],
      ['test-slipway-operator', true],
      ['test-slipway-test', false],
    ]);
  });

  it('names only the configured images and addresses', () => {
    const text = render({ image: { repository: 'registry.internal/slipway', tag: '1' } }).stdout;
    const images = [...text.matchAll(/image: (\S+)/g)].map(([, image]) => image);
    expect(new Set(images)).toEqual(new Set(['registry.internal/slipway:1']));
    const hosts = [...text.matchAll(/https?:\/\/([^/:\s"'`]+)/g)].map(([, host]) => host);
    expect(new Set(hosts)).toEqual(
      new Set([
        'resources.example.org',
        '127.0.0.1',
        'test-slipway.slipway.svc',
        'test-slipway-admin.slipway.svc',
      ]),
    );
  });

  it('takes its images from the registry of the platform, with the Secrets of both levels', () => {
    const objects = objectsOf(CHART_VALUES['a registry and accounts of the platform'] ?? {});
    const pods = objects.flatMap(({ kind, spec }) =>
      kind === 'Deployment' ? [spec.template.spec] : kind === 'Pod' ? [spec] : [],
    );
    expect(pods).toHaveLength(3);
    for (const { containers, imagePullSecrets } of pods) {
      expect(containers[0].image).toBe('registry.internal:5000/games/slipway:0.1.0');
      expect(imagePullSecrets).toEqual([{ name: 'own' }, { name: 'pull' }, { name: 'other' }]);
    }
    const accounts = objects.filter(({ kind }) => kind === 'ServiceAccount').map(({ metadata }) => metadata);
    expect(accounts.map(({ name }) => name)).toEqual(['reconciler']);
    expect(pods.filter(({ serviceAccountName }) => serviceAccountName === 'existing')).toHaveLength(2);
    expect(pods.filter(({ serviceAccountName }) => serviceAccountName === 'reconciler')).toHaveLength(1);
    const bound = objects.filter(({ kind }) => kind === 'RoleBinding') as unknown as Array<{
      subjects: Array<{ name: string }>;
    }>;
    expect(bound.flatMap(({ subjects }) => subjects.map(({ name }) => name))).toEqual([
      'reconciler',
      'reconciler',
    ]);
  });

  it('lets labels of the user win, except over those that selectors use, and repeats no key', () => {
    const text = render(CHART_VALUES['labels that the chart sets, too'] ?? {}).stdout;
    // The parser of the tests refuses a key that occurs twice.
    for (const { kind, metadata, spec } of parseObjects(text)) {
      if (kind === 'CustomResourceDefinition') continue;
      expect(metadata.labels, kind).toMatchObject({
        'app.kubernetes.io/part-of': 'games',
        'app.kubernetes.io/name': 'slipway',
        team: kind === 'ServiceMonitor' ? 'air' : 'water',
      });
      expect(metadata.labels?.['app.kubernetes.io/component'], kind).not.toBe('never');
      if (kind !== 'Deployment') continue;
      expect(spec.template.metadata.labels).toMatchObject({
        team: 'fire',
        'app.kubernetes.io/name': 'slipway',
      });
      expect(spec.template.metadata.annotations['kubectl.kubernetes.io/default-container']).toBe('daemon');
    }
    const claims = parseObjects(text).filter(({ kind }) => kind === 'PersistentVolumeClaim');
    expect(claims.map(({ metadata }) => metadata.annotations?.['helm.sh/resource-policy'])).toEqual([
      'delete',
      'keep',
    ]);
  });

  it('sets no user where the platform chooses one', () => {
    const text = render(CHART_VALUES['OpenShift, which chooses the users'] ?? {}).stdout;
    expect(text).not.toMatch(/runAsUser|runAsGroup|fsGroup:/);
    expect(text.match(/runAsNonRoot: true/g)).toHaveLength(7);
  });

  // oxlint-disable-next-line typescript/no-explicit-any -- parts of a pod
  const podTemplateOf = (values: object): Record<string, any> => {
    const deployment = objectsOf(values).find(({ kind }) => kind === 'Deployment');
    if (deployment === undefined) throw new Error('there is no Deployment');
    return deployment.spec.template;
  };

  it('merges the pod template of the user by the names of containers and volumes', () => {
    const { metadata, spec } = podTemplateOf(
      CHART_VALUES['a pod template with more than the values have'] ?? {},
    );
    expect(Object.keys(metadata['annotations']).sort(byText)).toEqual([
      'checksum/config',
      'example.org/scrape',
      'kubectl.kubernetes.io/default-container',
    ]);
    expect(spec).toMatchObject({
      schedulerName: 'batch',
      enableServiceLinks: true,
      terminationGracePeriodSeconds: 300,
    });
    const names = (list: Array<{ name: string }>): string[] => list.map(({ name }) => name);
    expect(names(spec.containers)).toEqual(['server', 'proxy']);
    expect(spec.containers[0]).toMatchObject({
      command: ['node', 'cmd/server.ts', '--config', '/etc/slipway/config/server.yaml'],
      lifecycle: { preStop: { sleep: { seconds: 3 } } },
    });
    expect(names(spec.initContainers)).toEqual(['daemon']);
    expect(spec.initContainers[0].securityContext).toMatchObject({
      readOnlyRootFilesystem: false,
      allowPrivilegeEscalation: false,
    });
    expect(spec.volumes.filter(({ name }: { name: string }) => ['tmp', 'more'].includes(name))).toEqual([
      { name: 'tmp', emptyDir: { sizeLimit: '1Gi' } },
      { name: 'more', emptyDir: {} },
    ]);
  });

  it('renders as part of another chart, with the values that charts share', async () => {
    const parent = join(home, 'parent');
    await cp(CHART, join(parent, 'charts/slipway'), { recursive: true });
    await writeFile(
      join(parent, 'Chart.yaml'),
      stringify({
        apiVersion: 'v2',
        name: 'parent',
        version: '1.0.0',
        dependencies: [{ name: 'slipway', version: '*', condition: 'slipway.enabled' }],
      }),
    );
    const args = ['template', 'game', parent, '--namespace', NAMESPACE, '--kube-version', '1.29.0'];
    const objects = (program: string, more: object): KubeObject[] => {
      const run = runHelm(program, [...args, '--values', '-'], {
        home,
        input: stringify({
          global: { imageRegistry: 'registry.internal', storageClass: 'of-other-charts' },
          slipway: {
            publicBaseUrl: PUBLIC_BASE_URL,
            platform: 'openshift',
            secrets: { generate: true },
            ...more,
          },
        }),
      });
      expect(run.stderr).toBe('');
      return parseObjects(run.stdout);
    };
    const alone = objectsOf({ admin: { exposeControl: true }, operator: { enabled: true } });
    for (const program of [helm, helm3]) {
      const found = objects(program, {
        enabled: true,
        admin: { exposeControl: true },
        operator: { enabled: true },
      });
      expect(found.map(({ kind }) => kind).sort()).toEqual(alone.map(({ kind }) => kind).sort());
      const deployment = found.find(
        ({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'game-slipway',
      );
      const pod = deployment?.spec.template.spec;
      expect(pod.containers[0].image).toBe('registry.internal/slipway:0.1.0');
      // A parent chart cannot say null to every Helm.
      expect(pod.securityContext).toMatchObject({ runAsNonRoot: true });
      expect(JSON.stringify(found)).not.toMatch(/runAsUser|runAsGroup|"fsGroup"/);
      expect(objects(program, { enabled: false })).toEqual([]);
    }
  });

  it('makes no keys without a cluster, where each run would make others, unless that is asked for', () => {
    const refused = render({ secrets: { generate: false } });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(`kubectl -n ${NAMESPACE} create secret generic slipway-signing`);
    expect(refused.stderr).toContain(`kubectl -n ${NAMESPACE} create secret generic slipway-admin`);
    const named = { signing: { existingSecret: 'keys' }, admin: { existingSecret: 'tokens' } };
    expect(render({ secrets: { generate: false }, ...named }).code).toBe(0);
    expect(render({ secrets: { generate: false }, ...named, edge: { enabled: true } }).stderr).toContain(
      'below edge',
    );
    // With a cluster, also in a namespace that does not exist yet, an install is one step.
    const args = ['install', 'one', CHART, '--namespace', 'absent', '--create-namespace', '--dry-run=server'];
    const run = runHelm(helm, [...args, '--set', `publicBaseUrl=${PUBLIC_BASE_URL}`], {
      home,
      kubeconfig: cluster.kubeconfig,
    });
    expect(run.stderr).toBe('');
    expect(run.stdout).toContain('name: one-slipway-signing');
  });

  it('says which option an upgrade with the values of an older version needs', async () => {
    const values = parse(await readFile(join(CHART, 'values.yaml'), 'utf8')) as Record<string, unknown>;
    const helpers = await readFile(join(CHART, 'templates/_helpers.tpl'), 'utf8');
    const sections = Object.entries(values)
      .filter(
        ([name, value]) =>
          name !== 'global' && name !== 'commonLabels' && typeof value === 'object' && !Array.isArray(value),
      )
      .map(([name]) => name);
    const list = /range \$name := list ((?:"[a-zA-Z]+" ?)+)/.exec(helpers)?.[1] ?? '';
    const checked = [...list.matchAll(/"([a-zA-Z]+)"/g)].map(([, name]) => name);
    expect(new Set(checked)).toEqual(new Set(sections));
    const older = join(home, 'older');
    await cp(CHART, older, { recursive: true });
    const { test: _test, secrets: _secrets, ...rest } = values;
    await writeFile(join(older, 'values.yaml'), stringify(rest, { version: '1.1' }));
    const run = runHelm(helm, ['template', 'test', older, '--set', `publicBaseUrl=${PUBLIC_BASE_URL}`], {
      home,
    });
    expect(run.stderr).toContain('the values have no secrets:');
    expect(run.stderr).toContain('Use helm upgrade --reset-then-reuse-values');
  });

  it('gives the roles of the cluster rights on ReleaseChannels, unless the values say otherwise', () => {
    const rolesOf = (values: object): KubeObject[] =>
      objectsOf(values).filter(({ kind }) => kind === 'ClusterRole');
    const roles = rolesOf({ crds: { aggregateRoles: ['view', 'edit'] } });
    // Only reading is given to others without being asked for.
    expect(rolesOf({}).map(({ metadata }) => metadata.name)).toEqual([
      `${NAMESPACE}-test-slipway-releasechannels-view`,
    ]);
    expect(roles.map(({ metadata }) => metadata.name)).toEqual([
      `${NAMESPACE}-test-slipway-releasechannels-edit`,
      `${NAMESPACE}-test-slipway-releasechannels-view`,
    ]);
    expect(JSON.stringify(roles)).not.toContain('deletecollection');
    for (const { metadata } of roles) {
      expect(metadata.labels).toMatchObject({ 'rbac.authorization.k8s.io/aggregate-to-admin': 'true' });
    }
    expect(roles[0]?.metadata.labels).not.toHaveProperty('rbac.authorization.k8s.io/aggregate-to-view');
    expect(rolesOf({ crds: { aggregateRoles: [] } })).toEqual([]);
    expect(rolesOf({ crds: { install: false } })).toEqual([]);
  });

  it('makes a key pair that both programs load, another one for each installation', async () => {
    const ids = [];
    for (const name of ['one', 'two']) {
      const folder = join(home, name);
      await mkdir(folder);
      const { data = {} } = renderedNow({}).find(({ metadata }) => metadata.name.endsWith('-signing')) ?? {};
      for (const [file, text] of Object.entries(data)) {
        await writeFile(join(folder, file), Buffer.from(text, 'base64'), { mode: 0o600 });
      }
      const signing = await loadSigningKeys([join(folder, 'signing.key')]);
      const trusted = await loadTrustedKeys([join(folder, 'signing.pub')]);
      if (!signing.ok || !trusted.ok) throw new Error('the keys cannot be loaded');
      const [key] = signing.value.keys;
      expect(trusted.value.map(({ keyId }) => keyId)).toEqual([key?.keyId]);
      expect(key && keyIdOf(createPublicKey(key.privateKey))).toBe(key?.keyId);
      ids.push(key?.keyId);
    }
    expect(new Set(ids).size).toBe(2);
  });

  it('keeps key, token, claims and CRD over upgrade, rollback, uninstall and a new installation', async () => {
    const set = ['--set', `publicBaseUrl=${PUBLIC_BASE_URL}`];
    release('install', 'kept', CHART, ...set);
    const before = [await secret('kept-slipway-signing'), await secret('kept-slipway-admin')];
    // Secrets that exist are read by their names, and no others.
    const rbac = { apiGroup: 'rbac.authorization.k8s.io', name: 'reader' };
    const rules = [{ apiGroups: ['*'], resources: ['*'], verbs: ['get'] }];
    for (const [kind, body] of [
      ['clusterroles', { rules }],
      [
        'clusterrolebindings',
        { roleRef: { ...rbac, kind: 'ClusterRole' }, subjects: [{ ...rbac, kind: 'User' }] },
      ],
    ] as const) {
      const path = `/apis/rbac.authorization.k8s.io/v1/${kind}`;
      const made = await cluster.request('POST', path, { body: { metadata: { name: 'reader' }, ...body } });
      expect(made.status).toBe(201);
    }
    const look = ['template', 'kept', CHART, '--dry-run=server', '--kube-as-user', 'reader'];
    expect(release(...look, ...set)).toContain(before[0]?.['signing.key']);
    release('upgrade', 'kept', CHART, ...set, '--set', 'server.config.log.level=debug');
    release('rollback', 'kept', '1');
    expect([await secret('kept-slipway-signing'), await secret('kept-slipway-admin')]).toEqual(before);
    release('uninstall', 'kept');
    const claims = await cluster.request('GET', '/api/v1/namespaces/kept/persistentvolumeclaims');
    expect((claims.body as { items: KubeObject[] }).items.map(({ metadata }) => metadata.name)).toEqual([
      'kept-slipway-data',
      'kept-slipway-snapshot',
    ]);
    const { status } = await cluster.request('GET', CRD);
    expect(status).toBe(200);
    release('install', 'kept', CHART, ...set);
    expect([await secret('kept-slipway-signing'), await secret('kept-slipway-admin')]).toEqual(before);
    release('uninstall', 'kept');
  });

  it('takes the Lease of the operator with it, but not one that an older version left', async () => {
    const leases = '/apis/coordination.k8s.io/v1/namespaces/kept/leases';
    const lease = `${leases}/kept-slipway-operator`;
    const values = ['publicBaseUrl=' + PUBLIC_BASE_URL, 'admin.exposeControl=true', 'operator.enabled=true'];
    const set = values.flatMap((value) => ['--set', value]);
    release('install', 'kept', CHART, ...set);
    // The operator wrote into it.
    const { body } = await cluster.request('GET', lease);
    const spec = { holderIdentity: 'one', leaseDurationSeconds: 15 };
    await cluster.request('PUT', lease, { body: { ...(body as object), spec } });
    release('upgrade', 'kept', CHART, ...set, '--set', 'operator.config.log.level=debug');
    expect((await cluster.request('GET', lease)).body).toMatchObject({ spec });
    release('uninstall', 'kept');
    expect((await cluster.request('GET', lease)).status).toBe(404);
    await cluster.request('POST', leases, { body: { metadata: { name: 'kept-slipway-operator' }, spec } });
    release('install', 'kept', CHART, ...set);
    expect((await cluster.request('GET', lease)).body).toMatchObject({ spec });
    release('uninstall', 'kept');
    await cluster.request('DELETE', lease);
  });

  it('upgrades the CRD with the release', async () => {
    const set = ['--set', `publicBaseUrl=${PUBLIC_BASE_URL}`];
    const older = join(home, 'older');
    await cp(CHART, older, { recursive: true });
    const file = join(older, 'files/slipway.dev_releasechannels.yaml');
    await writeFile(file, (await readFile(file, 'utf8')).replace('- relch', '- older'));
    const shortNames = async (): Promise<unknown> => {
      const { body } = await cluster.request('GET', CRD);
      return (body as { spec: { names: { shortNames: unknown } } }).spec.names.shortNames;
    };
    release('install', 'kept', older, ...set);
    expect(await shortNames()).toEqual(['older']);
    release('upgrade', 'kept', CHART, ...set);
    expect(await shortNames()).toEqual(['relch']);
    release('uninstall', 'kept');
  });

  it('leaves the CRD to the chart slipway-crds, which takes it over, upgrades and keeps it', async () => {
    const crds = join(CHART, '../slipway-crds');
    const older = join(home, 'older-crds');
    await cp(crds, older, { recursive: true });
    const file = join(older, 'files/slipway.dev_releasechannels.yaml');
    await writeFile(file, (await readFile(file, 'utf8')).replace('- relch', '- older'));
    const definition = async (): Promise<KubeObject> => {
      const { status, body } = await cluster.request('GET', CRD);
      expect(status).toBe(200);
      return body as KubeObject;
    };
    const set = ['--set', `publicBaseUrl=${PUBLIC_BASE_URL}`];
    release('install', 'kept', CHART, ...set);
    release(
      'install',
      'crds',
      older,
      '--take-ownership',
      '--set',
      'aggregateRoles={view,edit},commonAnnotations.a=b',
    );
    release('upgrade', 'kept', CHART, ...set, '--set', 'crds.install=false');
    expect((await definition()).spec.names.shortNames).toEqual(['older']);
    release('upgrade', 'crds', crds);
    expect((await definition()).spec.names.shortNames).toEqual(['relch']);
    expect((await definition()).metadata).toMatchObject({
      labels: { 'app.kubernetes.io/name': 'slipway-crds' },
      annotations: { 'meta.helm.sh/release-name': 'crds', 'helm.sh/resource-policy': 'keep' },
    });
    const role = '/apis/rbac.authorization.k8s.io/v1/clusterroles/kept-crds-releasechannels-view';
    expect(((await cluster.request('GET', role)).body as KubeObject).metadata).toMatchObject({
      labels: { 'rbac.authorization.k8s.io/aggregate-to-admin': 'true' },
      annotations: { a: 'b' },
    });
    for (const name of ['kept', 'crds']) release('uninstall', name);
    await definition();
    await deleteDefinition();
  });

  it.each(['scripts/chart.ts', 'scripts/manifests.ts'])('is the output of %s', (script) => {
    const run = spawnSync(process.execPath, [script, '--check'], { cwd: ROOT, encoding: 'utf8' });
    expect(run.stderr).toBe('');
    expect(run.status).toBe(0);
  });

  it('has thirty sets of values in its tests', () => {
    expect(Object.keys(CHART_VALUES).length).toBeGreaterThanOrEqual(30);
  });

  it('tells hubs its makers and its CRD', () => {
    const chart = parse(readFileSync(join(CHART, 'Chart.yaml'), 'utf8')) as {
      readonly annotations: Readonly<Record<string, string>>;
    };
    expect(chart).toMatchObject({
      maintainers: [{ name: expect.any(String) as unknown }],
    });
    const [listed] = parse(chart.annotations['artifacthub.io/crds'] ?? '') as Array<Record<string, string>>;
    const { metadata, spec } = parse(
      readFileSync(join(CHART, 'files/slipway.dev_releasechannels.yaml'), 'utf8'),
    ) as KubeObject;
    const [version] = spec.versions as Array<{ readonly name: string }>;
    expect(listed).toMatchObject({ kind: spec.names.kind, name: metadata.name, version: version?.name });
  });

  it('has a registry apart from the repository in every example, as the packaged chart has one of its own', () => {
    const files = ['manifests/samples/*.yaml', 'charts/slipway/README.md', 'docs/how-to/*.md'];
    for (const file of globSync(files, { cwd: ROOT })) {
      expect(readFileSync(join(ROOT, file), 'utf8'), file).not.toMatch(/repository(?:: |=)registry\./);
    }
  });

  it.each(globSync('manifests/samples/values-*.yaml', { cwd: ROOT }))('installs with %s', (file) => {
    // Claims stay, so each has its own name.
    const name = basename(file, '.yaml');
    release('install', name, CHART, '--values', file);
    release('uninstall', name);
  });

  it('leaves the CRD to the installation that created it', async () => {
    await deleteDefinition();
    const set = ['--set', `publicBaseUrl=${PUBLIC_BASE_URL}`];
    release('install', 'kept', CHART, ...set);
    expect(release('install', 'second', CHART, ...set)).toContain(
      'it belongs to release kept in namespace kept',
    );
    for (const name of ['kept', 'second']) release('uninstall', name);
  });

  it('is installed without Helm by the files in manifests, and its samples of ReleaseChannel are accepted', async () => {
    await deleteDefinition();
    const apply = (file: string): ReturnType<typeof spawnSync> =>
      spawnSync(kubectl, ['apply', '--server-side', '--namespace', 'slipway', '-f', file], {
        cwd: ROOT,
        encoding: 'utf8',
        env: { ...process.env, KUBECONFIG: cluster.kubeconfig, HOME: home },
      });
    for (const name of ['namespace', 'crd', 'install']) {
      expect(apply(`manifests/${name}.yaml`).stderr).toBe('');
    }
    spawnSync(kubectl, ['wait', ...ESTABLISHED], { env: { ...process.env, KUBECONFIG: cluster.kubeconfig } });
    const channels = apply('manifests/samples/releasechannels.yaml');
    expect(channels.stderr).toBe('');
    expect(String(channels.stdout).trim().split('\n')).toHaveLength(2);
    // Nothing in it says that Helm manages it.
    for (const name of ['namespace', 'crd', 'install']) {
      const [, ...objects] = readFileSync(join(ROOT, `manifests/${name}.yaml`), 'utf8').split('---\n');
      expect(objects.join('')).not.toMatch(/helm/i);
      // Who deletes what was installed keeps the definition, and with it the objects of others.
      expect(objects.some((each) => each.includes('CustomResourceDefinition'))).toBe(name === 'crd');
    }
  });
});
