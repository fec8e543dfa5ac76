import { readBoundedFile } from '../../platform/files/files.ts';

/** How to reach one API server, and as whom. */
export interface ClusterAccess {
  /** Origin, without trailing slash. */
  readonly server: string;
  /** PEM certificates to trust; `null` for those of the system. */
  readonly ca: string | null;
  /** Client certificate and key (PEM). */
  readonly certificate: { readonly cert: string; readonly key: string } | null;
  /** A token that never changes, or the file that holds the current one. */
  readonly token:
    | { readonly kind: 'none' }
    | { readonly kind: 'fixed'; readonly token: string }
    | { readonly kind: 'file'; readonly path: string };
  /** The namespace to work in when none is configured. */
  readonly namespace: string;
}

/** Largest file of credentials. */
export const CREDENTIALS_MAX_BYTES = 1024 * 1024;

/** Where Kubernetes mounts the service account of a pod. */
export const SERVICE_ACCOUNT_DIRECTORY = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * The access that Kubernetes gives to a pod.
 *
 * @param env `KUBERNETES_SERVICE_HOST` and `KUBERNETES_SERVICE_PORT`
 * @returns `null` when this is no pod
 * @throws the file system error when the service account is not mounted
 *
 * Source: Kubernetes documentation, "Accessing the API from a Pod".
 */
export async function inClusterAccess(
  env: Readonly<Record<string, string | undefined>>,
  directory = SERVICE_ACCOUNT_DIRECTORY,
): Promise<ClusterAccess | null> {
  const host = env['KUBERNETES_SERVICE_HOST'];
  const port = env['KUBERNETES_SERVICE_PORT'];
  if (host === undefined || host === '' || port === undefined || port === '') return null;
  const read = async (name: string): Promise<string> =>
    (await readBoundedFile(`${directory}/${name}`, CREDENTIALS_MAX_BYTES)).toString('utf8');
  const [ca, namespace] = await Promise.all([read('ca.crt'), read('namespace')]);
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    ca,
    certificate: null,
    token: { kind: 'file', path: `${directory}/token` },
    namespace: namespace.trim(),
  };
}
