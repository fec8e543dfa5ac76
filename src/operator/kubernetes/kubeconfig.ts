import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { readBoundedFile } from '../../platform/files/files.ts';
import { CREDENTIALS_MAX_BYTES, type ClusterAccess } from './cluster-access.ts';

const KubeconfigSchema = z.looseObject({
  'current-context': z.string().optional(),
  clusters: z.array(
    z.looseObject({
      name: z.string(),
      cluster: z.looseObject({
        server: z.url(),
        'certificate-authority': z.string().optional(),
        'certificate-authority-data': z.string().optional(),
        'insecure-skip-tls-verify': z.boolean().optional(),
      }),
    }),
  ),
  contexts: z.array(
    z.looseObject({
      name: z.string(),
      context: z.looseObject({ cluster: z.string(), user: z.string(), namespace: z.string().optional() }),
    }),
  ),
  users: z.array(
    z.looseObject({
      name: z.string(),
      user: z.looseObject({
        token: z.string().optional(),
        tokenFile: z.string().optional(),
        'client-certificate': z.string().optional(),
        'client-certificate-data': z.string().optional(),
        'client-key': z.string().optional(),
        'client-key-data': z.string().optional(),
        username: z.string().optional(),
        exec: z.unknown().optional(),
        'auth-provider': z.unknown().optional(),
      }),
    }),
  ),
});

/** A kubeconfig that cannot be used; the message says what to change. */
export class KubeconfigError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'KubeconfigError';
  }
}

/**
 * Reads the access that a kubeconfig file describes: certificates, tokens and token files, inline or by path. Programs
 * that give credentials are not run.
 *
 * @param context its name; `null` for the current one
 * @throws KubeconfigError
 *
 * Source: Kubernetes API reference, kubeconfig (v1).
 */
export async function kubeconfigAccess(path: string, context: string | null): Promise<ClusterAccess> {
  const config = await parseKubeconfig(path);
  const contextName = context ?? config['current-context'] ?? '';
  const { context: chosen } = find(config.contexts, contextName, 'context', path);
  const { cluster } = find(config.clusters, chosen.cluster, 'cluster', path);
  const { user } = find(config.users, chosen.user, 'user', path);
  if (user.exec !== undefined || user['auth-provider'] !== undefined || user.username !== undefined) {
    throw new KubeconfigError(
      `${path}: the user "${chosen.user}" gets its credentials from a program or a password; use a token, a tokenFile or a client certificate`,
    );
  }
  if (cluster['insecure-skip-tls-verify'] === true) {
    throw new KubeconfigError(
      `${path}: insecure-skip-tls-verify is not supported; give certificate-authority instead`,
    );
  }
  const pem = async (data: string | undefined, file: string | undefined): Promise<string | null> => {
    if (data !== undefined) return Buffer.from(data, 'base64').toString('utf8');
    if (file === undefined) return null;
    return (await readBoundedFile(resolve(dirname(path), file), CREDENTIALS_MAX_BYTES)).toString('utf8');
  };
  const [ca, cert, key] = await Promise.all([
    pem(cluster['certificate-authority-data'], cluster['certificate-authority']),
    pem(user['client-certificate-data'], user['client-certificate']),
    pem(user['client-key-data'], user['client-key']),
  ]);
  return {
    server: cluster.server.replace(/\/+$/, ''),
    ca,
    certificate: cert === null || key === null ? null : { cert, key },
    token: tokenOf(user, path),
    namespace: chosen.namespace ?? 'default',
  };
}

function tokenOf(
  user: { readonly token?: string | undefined; readonly tokenFile?: string | undefined },
  path: string,
): ClusterAccess['token'] {
  if (user.tokenFile !== undefined) return { kind: 'file', path: resolve(dirname(path), user.tokenFile) };
  return user.token === undefined ? { kind: 'none' } : { kind: 'fixed', token: user.token };
}

async function parseKubeconfig(path: string): Promise<z.output<typeof KubeconfigSchema>> {
  try {
    // In a pod there is no kubeconfig, so the parser is not loaded.
    const { parse } = await import('yaml');
    const text = (await readBoundedFile(path, CREDENTIALS_MAX_BYTES)).toString('utf8');
    return KubeconfigSchema.parse(parse(text));
  } catch (error) {
    const what = error instanceof z.ZodError ? z.prettifyError(error) : String(error);
    throw new KubeconfigError(`${path} is no usable kubeconfig: ${what}`, error);
  }
}

function find<T extends { readonly name: string }>(
  items: readonly T[],
  name: string,
  what: string,
  path: string,
): T {
  const found = items.find((item) => item.name === name);
  if (found === undefined) throw new KubeconfigError(`${path} has no ${what} "${name}"`);
  return found;
}
