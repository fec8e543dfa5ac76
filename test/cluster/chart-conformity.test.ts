import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { CHART_VALUES } from '../support/chart-values.ts';
import { CHART, parseObjects, runHelm } from '../support/helm.ts';
import { connectKubeApi } from '../support/kube-control-plane.ts';
import { FOREIGN_CRDS, kubeTools } from '../support/kube-tools.ts';
import { runKubeconform, writeKindSchemas } from '../support/kubeconform.ts';

const ROOT = resolve(import.meta.dirname, '../..');

const programs = kubeTools(
  'etcd',
  'kube-apiserver',
  'helm',
  'kubectl',
  'kubeconform',
  'kube-score',
  ...FOREIGN_CRDS,
);

/** The complaints of kube-score that we accept, each with the reason. */
const ACCEPTED: Readonly<Record<string, string>> = {
  'container-image-pull-policy':
    'releases are pinned by tag or digest, and a node must start a pod without the registry',
  'container-resources': 'a limit on CPU throttles hashing and downloads; memory and disk are limited',
  'deployment-strategy': 'no second pod can have a claim that is ReadWriteOncePod; all others roll',
  'deployment-replicas': 'one pod is right for one volume; several pods have volumes of their own',
  'pod-networkpolicy': 'the pod of helm test lives for seconds and is not reachable',
};

/** Values that take back a setting of the chart, which kube-score then rightly misses. */
const WEAKER = new Set([
  'OpenShift, which chooses the users',
  'a pod template with more than the values have',
]);

/** The verdict of kubeconform on one object. */
interface Conformity {
  readonly kind: string;
  readonly name: string;
  readonly status: string;
  readonly msg: string;
}

describe.skipIf(programs === null)('the rendered chart', () => {
  let home = '';
  let schemas = '';

  const rendered = new Map<string, string>();

  /** The chart with values; the same values are rendered once. */
  const render = (values: object): string =>
    rendered.getOrInsertComputed(JSON.stringify(values), () => renderNow(values));
  const renderNow = (values: object): string => {
    const args = ['template', 'test', CHART, '--namespace', 'slipway', '--values', '-'];
    const input = stringify({
      publicBaseUrl: 'https://resources.example.org',
      secrets: { generate: true },
      ...values,
    });
    const run = runHelm(programs?.helm ?? '', args, { home, input });
    expect(run.stderr).toBe('');
    return run.stdout;
  };
  const conformityOf = (objects: string): Conformity[] => {
    const { stdout, stderr } = runKubeconform(programs?.kubeconform ?? '', schemas, objects);
    expect(stderr).toBe('');
    // A document that consists of a comment has no kind.
    return (JSON.parse(stdout) as { resources: Conformity[] }).resources.filter(({ kind }) => kind !== '');
  };
  const expectConforming = (objects: string): void => {
    const found = conformityOf(objects);
    expect(found.length).toBeGreaterThan(0);
    expect(found.filter(({ status }) => status !== 'statusValid')).toEqual([]);
  };

  beforeAll(async () => {
    if (programs === null) throw new Error('the programs are missing');
    home = await mkdtemp(join(tmpdir(), 'slipway-conformity-'));
    schemas = join(home, 'schemas');
    await mkdir(schemas);
    // It knows ReleaseChannel: its definition and the file of the chart are rendered by one function.
    const access = inject('operatorPlane');
    if (access === null) throw new Error('the control plane is missing');
    const cluster = connectKubeApi(access);
    try {
      const args = ['apply', '--server-side', ...FOREIGN_CRDS.flatMap((name) => ['-f', programs[name]])];
      const env = { ...process.env, KUBECONFIG: cluster.kubeconfig, HOME: home };
      const run = spawnSync(programs.kubectl, args, { encoding: 'utf8', env });
      expect(run.stderr).toBe('');
      await writeKindSchemas(cluster, schemas, [
        'dev.slipway.v1alpha1.ReleaseChannel',
        'io.k8s.networking.gateway.v1.HTTPRoute',
        'com.coreos.monitoring.v1.PodMonitor',
        'com.coreos.monitoring.v1.PrometheusRule',
        'com.coreos.monitoring.v1.ServiceMonitor',
      ]);
    } finally {
      await cluster.close();
    }
  });

  afterAll(async () => {
    await rm(home, { recursive: true, force: true });
  });

  it.each(Object.entries(CHART_VALUES))('conforms to the schemas of Kubernetes with %s', (_, values) => {
    expectConforming(render(values));
  });

  it.each([
    'manifests/namespace.yaml',
    'manifests/crd.yaml',
    'manifests/install.yaml',
    'manifests/samples/releasechannels.yaml',
    'manifests/samples/demo-upstream.yaml',
    'manifests/samples/sign-in.yaml',
  ])('%s conforms, too', (file) => {
    expectConforming(readFileSync(join(ROOT, file), 'utf8'));
  });

  it('shows hubs an example of a ReleaseChannel that conforms, too', () => {
    const { annotations } = parse(readFileSync(join(CHART, 'Chart.yaml'), 'utf8')) as {
      readonly annotations: Readonly<Record<string, string>>;
    };
    const [example] = parse(annotations['artifacthub.io/crdsExamples'] ?? '') as unknown[];
    expect(conformityOf(stringify(example))).toMatchObject([
      { kind: 'ReleaseChannel', status: 'statusValid' },
    ]);
  });

  it.each([
    ['a field that nobody knows', 'replicas:', 'replicaz:', 'replicaz'],
    ['a text for a number', /replicas: \d+/, 'replicas: many', 'replicas'],
    ['a kind that nobody knows', 'kind: Deployment', 'kind: Deploiment', 'could not find schema'],
  ])('is rejected with %s', (_, wanted, broken, message) => {
    const rendered = render({});
    const objects = rendered.replace(wanted, broken);
    expect(objects).not.toBe(rendered);
    const found = conformityOf(objects).filter(({ status }) => status !== 'statusValid');
    expect(found).toHaveLength(1);
    expect(found[0]?.msg).toContain(message);
  });

  it('has only the complaints of kube-score that we accepted', () => {
    const found = new Set<string>();
    for (const [name, values] of Object.entries(CHART_VALUES)) {
      if (WEAKER.has(name)) continue;
      const run = spawnSync(programs?.['kube-score'] ?? '', ['score', '--output-format', 'json', '-'], {
        encoding: 'utf8',
        input: render(values),
      });
      const objects = JSON.parse(run.stdout) as Array<{
        checks: Array<{ check: { id: string }; grade: number; skipped: boolean }>;
      }>;
      expect(objects.length).toBeGreaterThan(0);
      for (const { checks } of objects) {
        for (const { check, grade, skipped } of checks) if (!skipped && grade < 10) found.add(check.id);
      }
    }
    expect([...found].sort()).toEqual(Object.keys(ACCEPTED).sort());
  });

  // kube-linter is not run: the Go module proxy, from which the programs of these tests are built, refuses its module. Of what
  // its default checks ask, kube-score, the restricted Pod Security Standard and the API server leave out these.
  it.each(Object.entries(CHART_VALUES))(
    'refers only to ports and accounts that exist with %s',
    (_, values) => {
      const objects = parseObjects(render(values));
      const workloads = objects.filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet');
      const accounts = objects
        .filter(({ kind }) => kind === 'ServiceAccount')
        .map(({ metadata }) => metadata.name);
      const { serviceAccount } = values as { readonly serviceAccount?: { readonly name?: string } };
      for (const { metadata, spec } of workloads) {
        const { serviceAccountName, containers, initContainers = [] } = spec.template.spec as PodSpec;
        expect([...accounts, serviceAccount?.name], metadata.name).toContain(serviceAccountName);
        for (const container of [...containers, ...initContainers]) {
          const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe];
          for (const { httpGet } of probes.filter((probe) => probe !== undefined)) {
            if (httpGet !== undefined) expect(portsOf([container])).toContain(httpGet.port);
          }
        }
      }
      const services = objects.filter(({ kind }) => kind === 'Service');
      expect(services.length).toBeGreaterThan(0);
      for (const { metadata, spec } of services) {
        const selected = workloads.filter(({ spec: { template } }) =>
          isSelected(template.metadata, spec.selector),
        );
        expect(selected, metadata.name).toHaveLength(1);
        const known = selected.flatMap((workload) => {
          const { containers, initContainers = [] } = workload.spec.template.spec as PodSpec;
          return portsOf([...containers, ...initContainers]);
        });
        for (const { targetPort } of spec.ports as Array<{ targetPort: string }>)
          expect(known).toContain(targetPort);
      }
      for (const { metadata, spec } of objects.filter(({ kind }) => kind === 'PodDisruptionBudget')) {
        expect(spec.unhealthyPodEvictionPolicy, metadata.name).toBe('AlwaysAllow');
      }
    },
  );
});

interface Container {
  readonly ports?: ReadonlyArray<{ readonly name: string }>;
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
}

interface Probe {
  readonly httpGet?: { readonly port: string };
}

interface PodSpec {
  readonly serviceAccountName: string;
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
}

function portsOf(containers: readonly Container[]): string[] {
  return containers.flatMap(({ ports = [] }) => ports.map(({ name }) => name));
}

function isSelected(
  { labels }: { readonly labels: Readonly<Record<string, string>> },
  selector: Readonly<Record<string, string>>,
): boolean {
  return Object.entries(selector).every(([name, value]) => labels[name] === value);
}
