import type { TrustedKey } from '../../attestation/keys.ts';
import type { Result } from '../../domain/result.ts';
import type { Logger } from '../../platform/logging/logging.ts';

/** The public keys whose signatures count now. */
export interface TrustedKeyRing {
  current(): readonly TrustedKey[];
  /**
   * Reads the key files again. Files that cannot be used change nothing: the last good keys go on counting, and the
   * problem is logged once.
   *
   * @returns whether other keys count now
   */
  refresh(): Promise<boolean>;
}

/** Settings and collaborators of {@link createTrustedKeyRing}. */
export interface TrustedKeyRingOptions {
  /** The keys that were read at the start. */
  readonly first: readonly TrustedKey[];
  /** Reads them all, or gives every problem. */
  readonly load: () => Promise<Result<readonly TrustedKey[], readonly string[]>>;
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>;
}

/** Makes a ring that reads its keys again whenever it is told to, so that keys rotate without a restart. */
export function createTrustedKeyRing({ first, load, logger }: TrustedKeyRingOptions): TrustedKeyRing {
  let keys = first;
  let trouble = '';
  return {
    current: () => keys,
    refresh: async () => {
      const loaded = await load();
      if (!loaded.ok) {
        const problem = loaded.error.join('; ');
        if (problem !== trouble) {
          logger.error(
            { problem },
            'the trusted public keys cannot be reloaded; the previous ones stay in use',
          );
        }
        trouble = problem;
        return false;
      }
      if (trouble !== '') logger.info('the trusted public keys are readable again');
      trouble = '';
      const [before, after] = [keys, loaded.value].map((each) => each.map(({ keyId }) => keyId));
      const added = after?.filter((keyId) => before?.includes(keyId) !== true) ?? [];
      const removed = before?.filter((keyId) => after?.includes(keyId) !== true) ?? [];
      if (added.length + removed.length === 0) return false;
      keys = loaded.value;
      logger.warn({ added, removed }, 'the trusted public keys have changed');
      return true;
    },
  };
}
