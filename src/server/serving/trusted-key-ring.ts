import type { TrustedKey } from '../../attestation/keys.ts';
import type { Result } from '../../domain/result.ts';
import type { Logger } from '../../platform/logging/logging.ts';

/** The public keys that are trusted now. */
export interface TrustedKeyRing {
  current(): readonly TrustedKey[];
  /**
   * Reads the key files again. If they are not usable, the last good keys stay trusted and the problem is logged once.
   *
   * @returns whether the trusted keys changed
   */
  refresh(): Promise<boolean>;
}

/** Makes a ring that reads its keys again on every `refresh`, so that keys rotate without a restart. */
export function createTrustedKeyRing({
  first,
  load,
  logger,
}: {
  readonly first: readonly TrustedKey[];
  /** Reads all keys, or returns every problem. */
  readonly load: () => Promise<Result<readonly TrustedKey[], readonly string[]>>;
  readonly logger: Logger;
}): TrustedKeyRing {
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
