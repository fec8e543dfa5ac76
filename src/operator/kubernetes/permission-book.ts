import { hasStatus, isNamespaceTerminating } from '../../platform/kubernetes/kubernetes-error.ts';
import type { Logger } from '../../platform/logging/logging.ts';

/** Records the permissions that the operator lacks, and logs each of them once. */
export interface PermissionBook {
  /** Runs an effect and records whether it was forbidden. @param what verb and kind, such as `get secrets` */
  watch<T>(what: string, effect: () => Promise<T>): Promise<T>;
  troubles(): readonly string[];
}

export function createPermissionBook(logger: Logger): PermissionBook {
  const forbidden = new Set<string>();
  return {
    watch: async (what, effect) => {
      try {
        const result = await effect();
        if (forbidden.delete(what)) logger.info({ permission: what }, 'a missing permission was granted');
        return result;
      } catch (error) {
        if (hasStatus(error, 403) && !isNamespaceTerminating(error) && !forbidden.has(what)) {
          forbidden.add(what);
          logger.error({ permission: what }, `no permission to ${what}: grant it to the operator`);
        }
        throw error;
      }
    },
    troubles: () => [...forbidden].map((what) => `no permission to ${what}`),
  };
}
