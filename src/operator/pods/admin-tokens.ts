import { z } from 'zod';
import { failure, success, type Result } from '../../domain/result.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { KubernetesClient } from '../kubernetes/kubernetes-client.ts';
import { hasStatus } from '../kubernetes/kubernetes-error.ts';
import type { PermissionBook } from '../kubernetes/permission-book.ts';
import type { Obstacle } from './server-pods.ts';

/** Which key of which Secret holds a token. */
export interface SecretKey {
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
}

/** Reads admin tokens from Secrets; they are never watched, so that the operator needs no right to list them. */
export interface AdminTokens {
  /**
   * The token; remembered for a minute.
   *
   * @throws KubernetesError, ExchangeFailed when the API server cannot be asked
   */
  read(ref: SecretKey): Promise<Result<string, Obstacle>>;
  /** The token was refused: the Secret is read again at the next chance. */
  refuse(ref: SecretKey): void;
  /** Forgets tokens that are not remembered any more. */
  sweep(): void;
}

/** What {@link createAdminTokens} needs. */
export interface AdminTokensOptions {
  readonly client: Pick<KubernetesClient, 'call'>;
  readonly permissions: PermissionBook;
  readonly clock: Clock;
}

const REMEMBER_MS = 60_000;
const SecretObject = z.object({ data: z.record(z.string(), z.string()).nullish() });

/** Makes a reader. */
export function createAdminTokens({ client, permissions, clock }: AdminTokensOptions): AdminTokens {
  const held = new Map<string, { readonly token: string; readonly readAt: number }>();
  const idOf = ({ namespace, name, key }: SecretKey): string => `${namespace}/${name}/${key}`;
  const isOld = (readAt: number): boolean => clock.monotonic() - readAt > REMEMBER_MS;

  return {
    read: async (ref) => {
      const id = idOf(ref);
      const known = held.get(id);
      if (known !== undefined && !isOld(known.readAt)) return success(known.token);
      const path = `/api/v1/namespaces/${ref.namespace}/secrets/${ref.name}`;
      try {
        const secret = await permissions.watch('get secrets', async () =>
          SecretObject.parse(await client.call({ method: 'GET', path })),
        );
        const token = Buffer.from(secret.data?.[ref.key] ?? '', 'base64')
          .toString('utf8')
          .trim();
        if (token === '') {
          held.delete(id);
          return failure({
            reason: 'TokenSecretNotFound',
            message: `Secret "${ref.name}" has nothing under the key "${ref.key}"`,
          });
        }
        held.set(id, { token, readAt: clock.monotonic() });
        return success(token);
      } catch (error) {
        if (hasStatus(error, 404)) {
          held.delete(id);
          const message = `Secret "${ref.name}" does not exist in namespace "${ref.namespace}"`;
          return failure({ reason: 'TokenSecretNotFound', message });
        }
        if (hasStatus(error, 403)) {
          const message = `the operator may not read Secret "${ref.name}": grant it get on secrets`;
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
