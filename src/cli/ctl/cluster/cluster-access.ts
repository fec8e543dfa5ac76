import { AppsV1Api, CoreV1Api } from '@kubernetes/client-node';
import { HttpFailure } from '../../../platform/http/http-client.ts';
import { connectCluster } from '../../../platform/kubernetes/cluster-connection.ts';
import { KubeConfigError, loadKubeConfig } from '../../../platform/kubernetes/kube-config.ts';
import { KubernetesError } from '../../../platform/kubernetes/kubernetes-error.ts';
import { CTL_EXITS, CtlFailure } from '../ctl-exits.ts';
import { checkToken } from '../../read-token.ts';
import { resolveTarget, type ForwardTarget } from './forward-target.ts';
import { forwardPort, type PortForward } from './port-forward.ts';

/** The cluster that the service runs in. Its calls throw CtlFailure. */
export interface ClusterAccess {
  /**
   * Reads a token from a Secret.
   *
   * @param name `SECRET/KEY`
   */
  readTokenSecret(name: string): Promise<string>;
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
    readTokenSecret: async (name) => {
      const [secret = '', key = '', ...rest] = name.split('/');
      if (secret === '' || key === '' || rest.length > 0) {
        throw new CtlFailure(CTL_EXITS.usage, `--token-secret ${name}: give it as SECRET/KEY`);
      }
      const { data = {} } = await named(`the Secret "${secret}" in namespace "${namespace}"`, async () =>
        core.readNamespacedSecret({ namespace, name: secret }, connection.call({ signal })),
      );
      const encoded = Object.hasOwn(data, key) ? data[key] : undefined;
      if (encoded === undefined) {
        throw new CtlFailure(CTL_EXITS.usage, `the Secret ${secret} has no key "${key}"`);
      }
      const token = checkToken(Buffer.from(encoded, 'base64').toString('utf8'), `the Secret ${name}`);
      if (token.ok) return token.value;
      throw new CtlFailure(CTL_EXITS.usage, token.error);
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
