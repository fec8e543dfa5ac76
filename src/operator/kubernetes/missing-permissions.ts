import { hasStatus, isNamespaceTerminating } from '../../platform/kubernetes/kubernetes-error.ts';
import type { Logger } from '../../platform/logging/logging.ts';

/** Records the permissions that the operator does not have, and logs each of them once. */
export class MissingPermissions {
  readonly #forbidden = new Set<string>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Runs an effect and records whether it was forbidden. @param what verb and kind, such as `get secrets` */
  async watch<T>(what: string, effect: () => Promise<T>): Promise<T> {
    try {
      const result = await effect();
      if (this.#forbidden.delete(what))
        this.#logger.info({ permission: what }, 'a missing permission was granted');
      return result;
    } catch (error) {
      if (hasStatus(error, 403) && !isNamespaceTerminating(error) && !this.#forbidden.has(what)) {
        this.#forbidden.add(what);
        this.#logger.error({ permission: what }, `no permission to ${what}: grant it to the operator`);
      }
      throw error;
    }
  }

  troubles(): readonly string[] {
    return [...this.#forbidden].map((what) => `no permission to ${what}`);
  }
}
