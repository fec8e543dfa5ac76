import type { AppsV1Api, CoreV1Api, CoreV1Event, V1Pod } from '@kubernetes/client-node';
import type { CallOptions, ClusterConnection } from '../../../platform/kubernetes/cluster-connection.ts';
import { KubernetesError } from '../../../platform/kubernetes/kubernetes-error.ts';
import { CTL_EXITS, CtlFailure } from '../ctl-exits.ts';

/** The pod and the port behind a target. */
export interface PodPort {
  readonly pod: string;
  readonly port: number;
}

/** What to forward to, as on the command line. */
export interface ForwardTarget {
  /** `service/NAME`, `deployment/NAME`, `statefulset/NAME` or `pod/NAME`. */
  readonly target: string;
  /** Port of the target, a number or a name; `null` for the one named `http`. */
  readonly targetPort: string | null;
  readonly namespace: string;
}

/** The APIs that a target is looked up in. */
export interface TargetApis {
  readonly core: CoreV1Api;
  readonly apps: AppsV1Api;
  readonly call: (options: CallOptions) => ReturnType<ClusterConnection['call']>;
}

interface Selection {
  readonly labels: Readonly<Record<string, string>> | undefined;
  /** A number, or the name of a container port. */
  readonly port: string;
}

type Kind = 'service' | 'deployment' | 'statefulset' | 'pod';

const KINDS: Readonly<Record<string, Kind>> = {
  service: 'service',
  services: 'service',
  svc: 'service',
  deployment: 'deployment',
  deployments: 'deployment',
  deploy: 'deployment',
  statefulset: 'statefulset',
  statefulsets: 'statefulset',
  sts: 'statefulset',
  pod: 'pod',
  pods: 'pod',
  po: 'pod',
};

const MAX_PODS = 100;
const MAX_EVENTS = 500;

/**
 * Finds a pod of a target, and the port in it, as `kubectl port-forward` does: a ready pod if there is one, else one that
 * runs. A pod that is not ready can say why, and take a repair.
 *
 * @throws CtlFailure when there is none; KubernetesError, HttpFailure
 *
 * Source: Kubernetes API reference, ServicePort: a targetPort is a number or the name of a container port, and absent
 * it equals the port.
 */
export async function resolveTarget(
  apis: TargetApis,
  { target, namespace, ...wanted }: ForwardTarget,
  signal: AbortSignal,
): Promise<PodPort> {
  const [kindName = '', name = '', ...rest] = target.split('/');
  const kind = KINDS[kindName];
  if (kind === undefined || name === '' || rest.length > 0) {
    throw new CtlFailure(
      CTL_EXITS.usage,
      `--target ${target}: give it as service/NAME, deployment/NAME, statefulset/NAME or pod/NAME`,
    );
  }
  const targetPort = wanted.targetPort ?? 'http';
  const call = apis.call({ signal });
  if (kind === 'pod') {
    const pod = await apis.core.readNamespacedPod({ namespace, name }, call);
    return { pod: name, port: containerPort(pod, targetPort, target) };
  }
  const { labels = {}, port } = await select(apis, kind, { namespace, name, targetPort, target }, call);
  const labelSelector = Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
  if (labelSelector === '') throw unreachable(`${target} selects no pods, so nothing can be forwarded`);
  const pods = await apis.core.listNamespacedPod({ namespace, labelSelector, limit: MAX_PODS }, call);
  const running = pods.items.filter(isRunning);
  const pod = running.find(isReady) ?? running[0];
  if (pod === undefined) {
    const why = await whyNotRunning(apis, { namespace, labels, pods: pods.items }, call);
    throw unreachable(
      `${target} has no running pod in namespace "${namespace}"${why}; check "kubectl -n ${namespace} get pods,events"`,
    );
  }
  return { pod: pod.metadata?.name ?? '', port: containerPort(pod, port, target) };
}

/** The newest warning about the pods of a target, or about their workload when none could be created; empty without one. */
async function whyNotRunning(
  apis: TargetApis,
  found: WithoutPod,
  call: ReturnType<TargetApis['call']>,
): Promise<string> {
  const { namespace, pods } = found;
  const names = new Set(pods.map(({ metadata }) => metadata?.name));
  try {
    const workloads = pods.length > 0 ? [] : await workloadsOf(apis, found, call);
    const concerns = ({ involvedObject: { kind, name = '' }, reason }: CoreV1Event): boolean =>
      pods.length > 0
        ? kind === 'Pod' && names.has(name)
        : reason === 'FailedCreate' &&
          // A Deployment creates pods with ReplicaSets, whose names end with a hash.
          workloads.includes(kind === 'ReplicaSet' ? name.replace(/-[^-]+$/, '') : name);
    const wanted = { namespace, fieldSelector: 'type=Warning', limit: MAX_EVENTS };
    const events = (await apis.core.listNamespacedEvent(wanted, call)).items.filter(concerns);
    const newest = events.toSorted((left, right) => timeOf(left) - timeOf(right)).at(-1);
    return newest === undefined ? '' : `: ${newest.involvedObject.name ?? ''}: ${newest.message ?? ''}`;
  } catch (error) {
    // Who may forward ports need not be allowed to read events or workloads.
    if (error instanceof KubernetesError) return '';
    throw error;
  }
}

interface WithoutPod {
  readonly namespace: string;
  /** Of the selector. */
  readonly labels: Readonly<Record<string, string>>;
  readonly pods: readonly V1Pod[];
}

/** The names of the workloads whose pods a selector takes. */
async function workloadsOf(
  { apps }: TargetApis,
  { namespace, labels }: WithoutPod,
  call: ReturnType<TargetApis['call']>,
): Promise<readonly (string | undefined)[]> {
  const wanted = { namespace, limit: MAX_PODS };
  const deployments = await apps.listNamespacedDeployment(wanted, call);
  const sets = await apps.listNamespacedStatefulSet(wanted, call);
  return [...deployments.items, ...sets.items]
    .filter(({ spec }) => {
      const { labels: own = {} } = spec?.template.metadata ?? {};
      return Object.entries(labels).every(([key, value]) => own[key] === value);
    })
    .map(({ metadata }) => metadata?.name);
}

/** When an event was last seen, in milliseconds. */
function timeOf({ lastTimestamp, eventTime, metadata }: CoreV1Event): number {
  return new Date(lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? 0).getTime();
}

async function select(
  { core, apps }: TargetApis,
  kind: Exclude<Kind, 'pod'>,
  at: {
    readonly namespace: string;
    readonly name: string;
    readonly targetPort: string;
    readonly target: string;
  },
  call: ReturnType<TargetApis['call']>,
): Promise<Selection> {
  if (kind === 'deployment') {
    const { spec } = await apps.readNamespacedDeployment(at, call);
    return { labels: spec?.selector.matchLabels, port: at.targetPort };
  }
  if (kind === 'statefulset') {
    const { spec } = await apps.readNamespacedStatefulSet(at, call);
    return { labels: spec?.selector.matchLabels, port: at.targetPort };
  }
  const { spec } = await core.readNamespacedService(at, call);
  const ports = spec?.ports ?? [];
  const found = ports.find(({ name, port }) => name === at.targetPort || String(port) === at.targetPort);
  if (found === undefined) {
    const known = ports.map(({ port }) => port).join(', ');
    throw unreachable(`${at.target} has no port ${at.targetPort}; its ports are: ${known || 'none'}`);
  }
  return { labels: spec?.selector, port: String(found.targetPort ?? found.port) };
}

function containerPort({ spec }: V1Pod, port: string, target: string): number {
  if (/^\d{1,5}$/.test(port)) return Number(port);
  // A native sidecar is an init container, and its ports count too.
  const containers = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
  const found = containers.flatMap(({ ports }) => ports ?? []).find(({ name }) => name === port);
  if (found !== undefined) return found.containerPort;
  throw unreachable(`no container of ${target} has a port named "${port}"`);
}

function isRunning({ metadata, status }: V1Pod): boolean {
  return metadata?.deletionTimestamp === undefined && status?.phase === 'Running';
}

function isReady({ status }: V1Pod): boolean {
  return (status?.conditions ?? []).some(({ type, status: value }) => type === 'Ready' && value === 'True');
}

function unreachable(message: string): CtlFailure {
  return new CtlFailure(CTL_EXITS.unreachable, message);
}
