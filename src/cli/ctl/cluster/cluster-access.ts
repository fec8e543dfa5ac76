import { AppsV1Api, CoreV1Api, type V1Service } from '@kubernetes/client-node';
import { ADMIN_TOKEN_MARK } from '../../../contract/crd/resource-names.ts';
import { HttpFailure } from '../../../platform/http/http-client.ts';
import { connectCluster } from '../../../platform/kubernetes/cluster-connection.ts';
import { KubeConfigError, loadKubeConfig } from '../../../platform/kubernetes/kube-config.ts';
import { hasStatus, KubernetesError } from '../../../platform/kubernetes/kubernetes-error.ts';
import { CTL_EXITS, CtlFailure } from '../ctl-exits.ts';
import { checkToken } from '../../read-token.ts';
import { resolveTarget, type ForwardTarget } from './forward-target.ts';
import { forwardPort, type PortForward } from './port-forward.ts';

/** A service in the cluster. */
interface FoundService {
  readonly target: string;
  /** `SECRET/KEY`; `null` when nobody asked, or when the chart did not make the Service. */
  readonly tokenSecret: string | null;
}

/** The labels of the Service of the chart that also leads to pods that are not ready; that of edges has another component. */
const ADMIN_SERVICE = 'app.kubernetes.io/part-of=slipway,app.kubernetes.io/component=admin';
/** Its name in the guides, for a user who may not list Services. */
const USUAL_SERVICE = 'slipway-admin';
const SERVICES_NAMED = 10;

/** The cluster that the service runs in. Its calls throw CtlFailure. */
export interface ClusterAccess {
  /**
   * Reads a token from a Secret.
   *
   * @param name `SECRET/KEY`
   * @param isFound whether a Service named it, and not the user: then the Secret must have the label of admin tokens
   */
  readTokenSecret(name: string, isFound: boolean): Promise<string>;
  /**
   * Finds the target, and where the token for it is.
   *
   * @param target as on the command line; `null` for the admin Service of the only installation of the chart
   * @param needsToken whether to look for the Secret of the token
   */
  find(target: string | null, needsToken: boolean): Promise<FoundService>;
  forward(target: Omit<ForwardTarget, 'namespace'>): Promise<PortForward>;
  close(): Promise<void>;
}

/**
 * Opens the cluster that the kubeconfig of kubectl names.
 *
 * @throws CtlFailure
 */
export async function openCluster(options: {
  /** Absent: the namespace of the context. */
  readonly namespace: string | undefined;
  /** Absent: the current context. */
  readonly context: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}): Promise<ClusterAccess> {
  const { env, context, signal } = options;
  const config = await loadKubeConfig({ env, context }).catch((cause: unknown) => {
    if (!(cause instanceof KubeConfigError)) throw cause;
    throw new CtlFailure(CTL_EXITS.unreachable, cause.message, { cause });
  });
  const connection = connectCluster(config, 'slipway-ctl');
  const namespace = options.namespace ?? connection.namespace;
  const [core, apps] = [connection.api(CoreV1Api), connection.api(AppsV1Api)];

  return {
    readTokenSecret: async (name, isFound) => {
      const [secret = '', key = '', ...rest] = name.split('/');
      if (secret === '' || key === '' || rest.length > 0) {
        throw new CtlFailure(CTL_EXITS.usage, `--token-secret ${name}: give it as SECRET/KEY`);
      }
      const { data = {}, metadata } = await named(
        `the Secret "${secret}" in namespace "${namespace}"`,
        async () => core.readNamespacedSecret({ namespace, name: secret }, connection.call({ signal })),
      );
      if (isFound && metadata?.labels?.[ADMIN_TOKEN_MARK] !== 'true') {
        const label = `kubectl -n ${namespace} label secret ${secret} ${ADMIN_TOKEN_MARK}=true`;
        const message = `the Service names the Secret ${name}, which is not labelled as an admin token, so it is not sent; if it is one, give --token-secret ${name}, or label it: ${label}`;
        throw new CtlFailure(CTL_EXITS.usage, message);
      }
      const encoded = Object.hasOwn(data, key) ? data[key] : undefined;
      if (encoded === undefined) {
        throw new CtlFailure(CTL_EXITS.usage, `the Secret ${secret} has no key "${key}"`);
      }
      const token = checkToken(Buffer.from(encoded, 'base64').toString('utf8'), `the Secret ${name}`);
      if (token.ok) return token.value;
      throw new CtlFailure(CTL_EXITS.usage, token.error);
    },
    find: async (target, needsToken) => {
      const tokenOf = ({ metadata }: V1Service): string | null =>
        needsToken ? (metadata?.annotations?.[ADMIN_TOKEN_MARK] ?? null) : null;
      const read = async (name: string): Promise<V1Service> =>
        await named(`service/${name} in namespace "${namespace}"`, async () =>
          core.readNamespacedService({ namespace, name }, connection.call({ signal })),
        );
      if (target !== null) {
        const [, name] = /^(?:service|services|svc)\/([^/]+)$/.exec(target) ?? [];
        return { target, tokenSecret: name === undefined || !needsToken ? null : tokenOf(await read(name)) };
      }
      const items = await named(`the Services of namespace "${namespace}"`, async () => {
        const page = { namespace, labelSelector: ADMIN_SERVICE, limit: SERVICES_NAMED };
        return (await core.listNamespacedService(page, connection.call({ signal }))).items;
      }).catch((error: unknown) => {
        if (error instanceof CtlFailure && hasStatus(error.cause, 403)) return [];
        throw error;
      });
      const [service, ...others] = items;
      if (others.length > 0) {
        const names = items.map(({ metadata }) => `service/${metadata?.name ?? ''}`).join(', ');
        const message = `namespace "${namespace}" has several installations of Slipway; choose one with --target: ${names}`;
        throw new CtlFailure(CTL_EXITS.usage, message);
      }
      const found =
        service ??
        (await read(USUAL_SERVICE).catch((error: unknown) => {
          throw noInstallation(namespace, error);
        }));
      return {
        target: `service/${found.metadata?.name ?? USUAL_SERVICE}`,
        tokenSecret: tokenOf(found),
      };
    },
    forward: async (target) => {
      const podPort = await named(`${target.target} in namespace "${namespace}"`, async () =>
        resolveTarget({ core, apps, call: connection.call }, { ...target, namespace }, signal),
      );
      return await forwardPort(config, namespace, podPort);
    },
    close: connection.close,
  };
}

/** What to say when the Service cannot be read: most often, the namespace has none. */
function noInstallation(namespace: string, error: unknown): unknown {
  if (!(error instanceof CtlFailure && hasStatus(error.cause, 404))) return error;
  const message = `namespace "${namespace}" has no installation of Slipway; name its namespace with -n, or another Service with --target`;
  return new CtlFailure(CTL_EXITS.unreachable, message, { cause: error });
}

async function named<T>(what: string, effect: () => Promise<T>): Promise<T> {
  try {
    return await effect();
  } catch (cause) {
    if (cause instanceof KubernetesError) {
      throw new CtlFailure(CTL_EXITS.unreachable, `cannot read ${what}: ${cause.message}`, { cause });
    }
    if (!(cause instanceof HttpFailure)) throw cause;
    throw new CtlFailure(CTL_EXITS.unreachable, `cannot reach the API server: ${cause.message}`, { cause });
  }
}
