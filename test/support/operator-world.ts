import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { expect, inject, onTestFinished } from 'vitest';
import type { ChannelCondition, ReleaseChannelStatus } from '../../src/contract/crd/release-channel.ts';
import { GROUP_VERSION, RELEASE_CHANNEL_KIND } from '../../src/contract/crd/resource-names.ts';
import { electionRules, watchedNamespaceRules } from './operator-rbac.ts';
import { FAKE_TOKEN, startFakeSlipway, type FakeSlipway } from './fake-slipway.ts';
import {
  connectKubeApi,
  type KubeAnswer,
  type KubeApi,
  type KubeControlPlane,
} from './kube-control-plane.ts';
import { startOperatorPlane } from './operator-plane.ts';
import { startSlipway, type SlipwayProcess } from './process.ts';
import type { AtEnd } from './shared-fixture.ts';
import { until } from './until.ts';

/** Flags of an operator that soon stops believing in a pod without an answer, for tests of such pods. */
export const IMPATIENT = ['--pods.timeoutMs=2000', '--pods.staleSeconds=5'] as const;

/** A ReleaseChannel as the API server returns it. */
export interface ChannelObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly generation: number;
    readonly resourceVersion: string;
    readonly creationTimestamp: string;
    readonly finalizers?: readonly string[];
    readonly deletionTimestamp?: string;
    readonly managedFields?: ReadonlyArray<{ readonly manager: string; readonly subresource?: string }>;
  };
  readonly status?: ReleaseChannelStatus;
}

/** An event as the API server returns it. */
export interface RecordedEvent {
  readonly type: string;
  readonly reason: string;
  readonly note: string;
}

/** A control plane with the definition of ReleaseChannel, and functions for tests. */
export interface OperatorWorld<Plane extends KubeApi = KubeApi> {
  readonly plane: Plane;
  /** Token of a user with exactly the operator's permissions. */
  readonly operatorToken: string;
  readonly directory: string;
  /** Makes a namespace with the operator's role in it. */
  createNamespace(): Promise<string>;
  /** Creates a Service whose pods are these servers on loopback, and the Secret `admin` with the token of the fakes. */
  expose(namespace: string, service: string, servers: readonly Pick<FakeSlipway, 'port'>[]): Promise<void>;
  /** Applies a ReleaseChannel. The spec is merged over a working one. */
  apply(namespace: string, name: string, spec?: object, annotations?: object): Promise<KubeAnswer>;
  get(namespace: string, name: string): Promise<ChannelObject | null>;
  remove(namespace: string, name: string): Promise<void>;
  /** The events that concern the ReleaseChannels of a namespace. */
  events(namespace: string): Promise<readonly RecordedEvent[]>;
  /** Waits until a condition has this status, and this reason if one is given. */
  untilCondition(
    namespace: string,
    name: string,
    type: ChannelCondition['type'],
    status: ChannelCondition['status'],
    reason?: string,
  ): Promise<ReleaseChannelStatus>;
  /** Waits until the status matches, as `toMatchObject` compares. */
  untilStatus(namespace: string, name: string, expected: object): Promise<void>;
  /** Starts an operator for a namespace. */
  startOperator(namespace: string, options?: OperatorOptions): Promise<SlipwayProcess>;
}

/** Options of an operator. */
export interface OperatorOptions {
  /** Further flags; they come before those of the world. */
  readonly args?: readonly string[];
  /** URL of the API server, if the operator connects through a proxy. */
  readonly server?: string;
  /** File with the token; default one with the operator's token. */
  readonly tokenFile?: string;
  /** Runs it with the heap settings of users. */
  readonly measuresMemory?: boolean;
  /** By default it stops with the running test. */
  readonly atEnd?: AtEnd;
}

/** A working spec. */
const SPEC = {
  channel: 'official',
  serverRef: { name: 'slipway', port: 80 },
  adminTokenSecretRef: { name: 'admin', key: 'token' },
};

/** A world on the control plane that all files of the tier share. */
export async function sharedOperatorWorld(atEnd: AtEnd): Promise<OperatorWorld> {
  const access = inject('operatorPlane');
  if (access === null) throw new Error('the programs are missing');
  const plane = connectKubeApi(access);
  atEnd(async () => await plane.close());
  return await openOperatorWorld(plane, access.operatorToken, atEnd);
}

/** A world on a control plane of its own, for tests that stop it, that change the definition, or that measure. */
export async function startOperatorWorld(atEnd: AtEnd): Promise<OperatorWorld<KubeControlPlane>> {
  const { plane, operatorToken } = await startOperatorPlane();
  atEnd(async () => await plane.stop());
  return await openOperatorWorld(plane, operatorToken, atEnd);
}

async function openOperatorWorld<Plane extends KubeApi>(
  plane: Plane,
  operatorToken: string,
  atEnd: AtEnd,
): Promise<OperatorWorld<Plane>> {
  const directory = await mkdtemp(join(tmpdir(), 'slipway-operator-'));
  atEnd(async () => {
    await rm(directory, { recursive: true, force: true });
  });
  const withSecret = new Set<string>();
  const channels = (namespace: string): string =>
    `/apis/${GROUP_VERSION}/namespaces/${namespace}/releasechannels`;

  const create = async (path: string, body: object): Promise<void> => {
    const { status, body: answer } = await plane.request('POST', path, { body });
    if (status !== 201) throw new Error(`POST ${path}: ${status} ${JSON.stringify(answer)}`);
  };
  const get = async (namespace: string, name: string): Promise<ChannelObject | null> => {
    const { status, body } = await plane.request('GET', `${channels(namespace)}/${name}`);
    return status === 200 ? (body as ChannelObject) : null;
  };

  return {
    plane,
    operatorToken,
    directory,
    createNamespace: async () => {
      const name = `test-${randomBytes(6).toString('hex')}`;
      await create('/api/v1/namespaces', { metadata: { name } });
      const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${name}`;
      const rules = [...watchedNamespaceRules(['admin']), ...electionRules('slipway-operator')];
      await create(`${rbac}/roles`, { metadata: { name: 'operator' }, rules });
      await create(`${rbac}/rolebindings`, {
        metadata: { name: 'operator' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'operator' },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'operator' }],
      });
      return name;
    },
    expose: async (namespace, service, servers) => {
      await create(`/api/v1/namespaces/${namespace}/services`, {
        metadata: { name: service },
        spec: { selector: { app: service }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
      });
      for (const [index, server] of servers.entries()) {
        await create(
          `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`,
          endpointSlice(namespace, service, index, server.port),
        );
      }
      if (withSecret.has(namespace)) return;
      withSecret.add(namespace);
      const secret = { metadata: { name: 'admin' }, stringData: { token: FAKE_TOKEN } };
      await create(`/api/v1/namespaces/${namespace}/secrets`, secret);
    },
    apply: async (namespace, name, spec = {}, annotations = {}) =>
      await plane.request('PATCH', `${channels(namespace)}/${name}?fieldManager=test&force=true`, {
        contentType: 'application/apply-patch+yaml',
        body: {
          apiVersion: GROUP_VERSION,
          kind: 'ReleaseChannel',
          metadata: { name, namespace, annotations },
          spec: { ...SPEC, ...spec },
        },
      }),
    get,
    remove: async (namespace, name) => {
      await plane.request('DELETE', `${channels(namespace)}/${name}`);
    },
    events: async (namespace) => {
      const path = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;
      const { items } = (await plane.request('GET', path)).body as {
        items: ReadonlyArray<RecordedEvent & { readonly regarding: { readonly kind: string } }>;
      };
      // The API server itself warns of a new Service when its view of the addresses lags behind.
      return items.filter(({ regarding }) => regarding.kind === RELEASE_CHANNEL_KIND);
    },
    untilCondition: async (namespace, name, type, status, reason) => {
      let last: unknown = null;
      try {
        return await until(async () => {
          const found = (await get(namespace, name))?.status;
          last = found?.conditions;
          const condition = found?.conditions.find((each) => each.type === type);
          const isReason = reason === undefined || condition?.reason === reason;
          return condition?.status === status && isReason ? found : null;
        });
      } catch (cause) {
        throw new Error(`${type} did not become ${status} ${reason ?? ''}: ${JSON.stringify(last)}`, {
          cause,
        });
      }
    },
    untilStatus: async (namespace, name, expected) => {
      await until(async () => {
        expect((await get(namespace, name))?.status).toMatchObject(expected);
        return true;
      });
    },
    startOperator: async (namespace, options = {}) => {
      const id = randomBytes(4).toString('hex');
      const tokenFile = options.tokenFile ?? join(directory, `token-${id}`);
      if (options.tokenFile === undefined) await writeFile(tokenFile, operatorToken);
      const kubeconfig = join(directory, `kubeconfig-${id}`);
      await writeFile(
        kubeconfig,
        renderKubeconfig(options.server ?? plane.url, plane.ca, tokenFile, namespace),
      );
      const operator = await startSlipway(
        'operator',
        [
          ...(options.args ?? []),
          `--kubernetes.kubeconfig=${kubeconfig}`,
          ...(options.args?.some((flag) => flag.startsWith('--watch.namespaces')) === true
            ? []
            : [`--watch.namespaces=${namespace}`]),
          '--pods.hostOverride=127.0.0.1',
          '--probes.host=127.0.0.1',
          '--probes.port=0',
          '--metrics.host=127.0.0.1',
          '--metrics.port=0',
          ...withDefaults(options.args ?? [], {
            '--log.level': 'debug',
            '--reconcile.intervalSeconds': '0.5',
            // An operator whose API server is overloaded or stopped for longer than its lease ends.
            '--election.leaseSeconds': '250',
            '--election.renewSeconds': '240',
            // On a busy machine a pod that works may answer after seconds.
            '--pods.timeoutMs': '30000',
            '--pods.staleSeconds': '60',
          }),
        ],
        { measuresMemory: options.measuresMemory ?? false },
      );
      (options.atEnd ?? onTestFinished)(async () => {
        operator.signal('SIGCONT');
        await operator.kill();
      });
      return operator;
    },
  };
}

/**
 * An EndpointSlice with one pod. Loopback addresses are not allowed in it, so a flag of the operator maps the pods'
 * addresses.
 */
export function endpointSlice(
  namespace: string,
  service: string,
  index: number,
  port: number,
): { readonly metadata: object; readonly endpoints: readonly object[] } & Readonly<Record<string, unknown>> {
  return {
    metadata: {
      name: `${service}-${index}`,
      namespace,
      labels: { 'kubernetes.io/service-name': service },
    },
    addressType: 'IPv4',
    ports: [{ name: 'http', port, protocol: 'TCP' }],
    endpoints: [
      {
        addresses: [`10.1.0.${index + 1}`],
        conditions: { ready: true },
        targetRef: { kind: 'Pod', namespace, name: `${service}-pod-${index}` },
      },
    ],
  };
}

/** Fake servers. By default they stop with the running test. */
export async function startFakes(count: number, atEnd: AtEnd = onTestFinished): Promise<FakeSlipway[]> {
  return await Promise.all(Array.from({ length: count }, async () => await startFakeSlipway(atEnd)));
}

function withDefaults(args: readonly string[], defaults: Readonly<Record<string, string>>): string[] {
  return Object.entries(defaults)
    .filter(([name]) => !args.some((flag) => flag.startsWith(`${name}=`)))
    .map(([name, value]) => `${name}=${value}`);
}

function renderKubeconfig(server: string, ca: string, tokenFile: string, namespace: string): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'test', cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') } },
    ],
    users: [{ name: 'operator', user: { tokenFile } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'operator', namespace } }],
    'current-context': 'test',
  });
}
