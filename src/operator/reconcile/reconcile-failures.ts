import { messageOf } from '../../platform/errors.ts';

/** Objects that are named in the warnings. */
const NAMED_MAX = 10;

interface FailedObject {
  readonly count: number;
  readonly message: string;
}

/** The failed reconciliations of each object since its last one that ended. */
export class ReconcileFailures {
  readonly #failed = new Map<string, FailedObject>();

  /** @returns how many failed in a row, with this one */
  failed(key: string, error: unknown): number {
    const count = this.countOf(key) + 1;
    this.#failed.set(key, { count, message: messageOf(error) });
    return count;
  }

  ended(key: string): void {
    this.#failed.delete(key);
  }

  countOf(key: string): number {
    return this.#failed.get(key)?.count ?? 0;
  }

  warnings(): readonly string[] {
    const all = [...this.#failed].map(
      ([key, { count, message }]) =>
        `ReleaseChannel ${key}: ${count} reconciliations in a row failed: ${message}`,
    );
    const more = all.length - NAMED_MAX;
    return [...all.slice(0, NAMED_MAX), ...(more > 0 ? [`${more} more ReleaseChannels fail`] : [])];
  }
}
