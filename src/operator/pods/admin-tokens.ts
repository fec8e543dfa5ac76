import type { CoreV1Api } from '@kubernetes/client-node';
import { failure, success, type Result } from '../../domain/result.ts';
import type { ClusterConnection } from '../../platform/kubernetes/cluster-connection.ts';
import { BEARER_TOKEN_RULE, isBearerToken } from '../../platform/http/bearer-token.ts';
import { hasStatus } from '../../platform/kubernetes/kubernetes-error.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { MissingPermissions } from '../kubernetes/missing-permissions.ts';
import type { Obstacle } from './server-pods.ts';

interface SecretKey {
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
}

/** Reads admin tokens from Secrets. It does not watch them, so the operator needs no right to list Secrets. */
export interface AdminTokens {
  /**
   * Returns the token, which is kept for a minute.
   *
   * @throws KubernetesError, HttpFailure when the API server cannot be asked
   */
  read(ref: SecretKey): Promise<Result<string, Obstacle>>;
  /** Drops a token that a server rejected; the next call reads the Secret again. */
  refuse(ref: SecretKey): void;
  sweep(): void;
}

/** The token itself is never quoted. */
function unusable({ name, key }: SecretKey, token: string): Obstacle {
  if (token === '') {
    return {
      reason: 'TokenSecretNotFound',
      message: `Secret "${name}" has no value under the key "${key}"`,
    };
  }
  const message = `Secret "${name}" holds no usable token under the key "${key}": ${BEARER_TOKEN_RULE}`;
  return { reason: 'TokenMalformed', message };
}

const KEEP_MS = 60_000;

export function createAdminTokens({
  secrets,
  call,
  permissions,
  clock,
}: {
  readonly secrets: CoreV1Api;
  readonly call: ClusterConnection['call'];
  readonly permissions: MissingPermissions;
  readonly clock: Clock;
}): AdminTokens {
  const held = new Map<string, { readonly token: string; readonly readAt: number }>();
  const idOf = ({ namespace, name, key }: SecretKey): string => `${namespace}/${name}/${key}`;
  const isOld = (readAt: number): boolean => clock.monotonic() - readAt > KEEP_MS;

  return {
    read: async (ref) => {
      const id = idOf(ref);
      const known = held.get(id);
      if (known !== undefined && !isOld(known.readAt)) return success(known.token);
      const { namespace, name, key } = ref;
      try {
        const { data } = await permissions.watch(
          'get secrets',
          async () => await secrets.readNamespacedSecret({ namespace, name }, call()),
        );
        const token = Buffer.from(data?.[key] ?? '', 'base64')
          .toString('utf8')
          .trim();
        if (isBearerToken(token)) {
          held.set(id, { token, readAt: clock.monotonic() });
          return success(token);
        }
        held.delete(id);
        return failure(unusable(ref, token));
      } catch (error) {
        if (hasStatus(error, 404)) {
          held.delete(id);
          const message = `Secret "${name}" does not exist in namespace "${namespace}"`;
          return failure({ reason: 'TokenSecretNotFound', message });
        }
        if (hasStatus(error, 403)) {
          const message = `the operator may not read Secret "${name}": grant it get on secrets`;
          return failure({ reason: 'TokenSecretForbidden', message });
        }
        throw error;
      }
    },
    refuse: (ref) => {
      held.delete(idOf(ref));
    },
    sweep: () => {
      for (const [id, { readAt }] of held) if (isOld(readAt)) held.delete(id);
    },
  };
}
