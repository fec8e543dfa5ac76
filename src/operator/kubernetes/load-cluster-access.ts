import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { OperatorConfiguration } from '../config.ts';
import { inClusterAccess, type ClusterAccess } from './cluster-access.ts';
import { kubeconfigAccess, KubeconfigError } from './kubeconfig.ts';

/**
 * Finds the way to the API server: the configured kubeconfig, `KUBECONFIG`, the service account of the pod, then
 * `~/.kube/config`.
 *
 * @throws KubeconfigError when there is none, or it cannot be used; the message says what to do
 */
export async function loadClusterAccess(
  config: OperatorConfiguration['kubernetes'],
  env: Readonly<Record<string, string | undefined>>,
): Promise<ClusterAccess> {
  const context = config.context ?? null;
  const fromEnvironment = env['KUBECONFIG'] === '' ? undefined : env['KUBECONFIG'];
  const named = config.kubeconfig ?? fromEnvironment;
  if (named !== undefined) return await kubeconfigAccess(named, context);
  const inCluster = await inClusterAccess(env).catch((cause: unknown) => {
    throw new KubeconfigError(
      'the service account of the pod cannot be read: set automountServiceAccountToken, or kubernetes.kubeconfig',
      cause,
    );
  });
  if (inCluster !== null) return inCluster;
  const path = join(env['HOME'] ?? '', '.kube', 'config');
  if (existsSync(path)) return await kubeconfigAccess(path, context);
  throw new KubeconfigError(
    'no cluster is known: set kubernetes.kubeconfig or KUBECONFIG, or run it in a pod with a service account',
  );
}
