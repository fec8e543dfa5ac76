import { existsSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, dirname, join, resolve } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { z } from 'zod';
import { readBoundedFile } from '../files/files.ts';
import { urlHost } from '../http/networks.ts';

interface KubeConfigOptions {
  /** Kubeconfig file; absent: `KUBECONFIG`, the service account of the pod, then `~/.kube/config`. */
  readonly file?: string | undefined;
  readonly context?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Rejects a cluster with `insecure-skip-tls-verify`. */
  readonly requireVerifiedTls?: boolean;
  readonly serviceAccountDirectory?: string;
}

/** The kubeconfig cannot be used; the message says what to change. */
export class KubeConfigError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'KubeConfigError';
  }
}

const FILE_MAX_BYTES = 1024 * 1024;
const SERVICE_ACCOUNT_DIRECTORY = '/var/run/secrets/kubernetes.io/serviceaccount';
const TOKEN_FILE = 'token-file';

/**
 * Loads the access to one cluster: server, credentials and namespace. Relative paths are resolved against the folder of
 * their file. Of several files in `KUBECONFIG`, missing ones are skipped and the first one that sets a name counts.
 *
 * @throws KubeConfigError
 *
 * Source: Kubernetes documentation, "Organizing Cluster Access Using kubeconfig Files" and "Accessing the API from a Pod".
 */
export async function loadKubeConfig(options: KubeConfigOptions): Promise<KubeConfig> {
  const { env, context } = options;
  const listed = (env['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '');
  const home = join(env['HOME'] ?? '', '.kube', 'config');
  let config: KubeConfig | null = null;
  if (options.file !== undefined) config = await readFiles([options.file]);
  else if (listed.length > 0) config = await readFiles(existing(listed));
  else config = (await serviceAccount(options)) ?? (existsSync(home) ? await readFiles([home]) : null);
  if (config === null) {
    throw new KubeConfigError(
      'no cluster is configured: set KUBECONFIG or name a kubeconfig file, or run this in a pod with a service account',
    );
  }
  if (context !== undefined) config.setCurrentContext(context);
  checkContext(config, options.requireVerifiedTls === true);
  return config;
}

/** The namespace of the current context. */
export function namespaceOf(config: KubeConfig): string {
  return config.getContextObject(config.getCurrentContext())?.namespace ?? 'default';
}

/** @throws KubeConfigError when none of the files exists */
function existing(listed: readonly string[]): readonly string[] {
  const found = listed.filter(existsSync);
  if (found.length > 0) return found;
  throw new KubeConfigError(`KUBECONFIG names no file that exists: ${listed.join(', ')}`);
}

async function readFiles(paths: readonly string[]): Promise<KubeConfig> {
  const merged = newConfig();
  for (const path of paths) {
    const part = await readFile(path);
    merged.clusters.push(...withoutKnown(part.clusters, merged.clusters));
    merged.users.push(...withoutKnown(part.users, merged.users));
    merged.contexts.push(...withoutKnown(part.contexts, merged.contexts));
    if ((merged.currentContext ?? '') === '') merged.setCurrentContext(part.currentContext);
  }
  return merged;
}

/** The field that the library leaves out. */
const TokenFiles = z.looseObject({
  users: z
    .array(
      z.looseObject({
        name: z.string(),
        user: z.looseObject({ tokenFile: z.string().optional() }).nullish(),
      }),
    )
    .nullish(),
});

async function readFile(path: string): Promise<KubeConfig> {
  const config = newConfig();
  try {
    const text = (await readBoundedFile(path, FILE_MAX_BYTES)).toString('utf8');
    const { parse } = await import('yaml');
    const document: unknown = parse(text);
    // kubectl writes into an empty file of a list, and until then the file counts as empty configuration.
    if (document === null) return config;
    config.loadFromString(text);
    const folder = resolve(dirname(path));
    config.makePathsAbsolute(folder);
    const tokenFiles = new Map(
      (TokenFiles.parse(document).users ?? []).map(({ name, user }) => [name, user?.tokenFile]),
    );
    config.users = config.users.map((user) => {
      const tokenFile = tokenFiles.get(user.name);
      return tokenFile === undefined
        ? user
        : { ...user, authProvider: tokenFileProvider(resolve(folder, tokenFile)) };
    });
    return config;
  } catch (cause) {
    const reason = cause instanceof z.ZodError ? z.prettifyError(cause) : String(cause);
    throw new KubeConfigError(`${path} is not a usable kubeconfig: ${reason}`, cause);
  }
}

async function serviceAccount({ env, ...options }: KubeConfigOptions): Promise<KubeConfig | null> {
  const [host = '', port = ''] = [env['KUBERNETES_SERVICE_HOST'], env['KUBERNETES_SERVICE_PORT']];
  if (host === '' || port === '') return null;
  const directory = options.serviceAccountDirectory ?? SERVICE_ACCOUNT_DIRECTORY;
  const [caFile, token] = [join(directory, 'ca.crt'), join(directory, 'token')];
  try {
    await Promise.all([access(caFile), access(token)]);
    const namespace = await readBoundedFile(join(directory, 'namespace'), FILE_MAX_BYTES);
    const config = newConfig();
    const server = `https://${urlHost(host)}:${port}`;
    config.clusters = [{ name: 'pod', server, caFile, skipTLSVerify: false }];
    config.users = [{ name: 'pod', authProvider: tokenFileProvider(token) }];
    config.contexts = [
      { name: 'pod', cluster: 'pod', user: 'pod', namespace: namespace.toString('utf8').trim() },
    ];
    config.setCurrentContext('pod');
    return config;
  } catch (cause) {
    throw new KubeConfigError(
      'cannot read the service account of the pod: set automountServiceAccountToken, or name a kubeconfig file',
      cause,
    );
  }
}

function newConfig(): KubeConfig {
  const config = new KubeConfig();
  config.addAuthenticator(tokenFileAuthenticator);
  return config;
}

function tokenFileProvider(path: string): {
  readonly name: string;
  readonly config: { readonly path: string };
} {
  return { name: TOKEN_FILE, config: { path } };
}

/** Reads the token for every call, so that a rotated one is used without delay. The library keeps one for a minute. */
const tokenFileAuthenticator: Parameters<KubeConfig['addAuthenticator']>[0] = {
  isAuthProvider: (user) => (user.authProvider as { name?: unknown } | undefined)?.name === TOKEN_FILE,
  applyAuthentication: async (user, options) => {
    const { path } = (user.authProvider as ReturnType<typeof tokenFileProvider>).config;
    // Signed tokens of a cluster may be longer than the tokens of our own services.
    const token = (await readBoundedFile(path, FILE_MAX_BYTES)).toString('utf8').trim();
    options.headers = Object.assign(options.headers ?? {}, { Authorization: `Bearer ${token}` });
  },
};

function checkContext(config: KubeConfig, requireVerifiedTls: boolean): void {
  const name = config.getCurrentContext() ?? '';
  const context = config.getContextObject(name);
  if (context === null) throw new KubeConfigError(`the kubeconfig has no context "${name}"`);
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new KubeConfigError(`the kubeconfig has no cluster "${context.cluster}"`);
  if (config.getCurrentUser() === null) {
    throw new KubeConfigError(`the kubeconfig has no user "${context.user}"`);
  }
  if (!/^https?:/.test(cluster.server) || !URL.canParse(cluster.server)) {
    throw new KubeConfigError(`the server "${cluster.server}" of the cluster "${cluster.name}" is not a URL`);
  }
  if (requireVerifiedTls && cluster.skipTLSVerify) {
    throw new KubeConfigError(
      `the cluster "${cluster.name}" has insecure-skip-tls-verify, which is not supported: set certificate-authority instead`,
    );
  }
  // The library asks for this where there is no TLS to verify.
  if (cluster.server.startsWith('http:')) Object.assign(cluster, { skipTLSVerify: true });
}

function withoutKnown<T extends { readonly name: string }>(found: readonly T[], known: readonly T[]): T[] {
  return found.filter(({ name }) => !known.some((each) => each.name === name));
}
