import type { LoadedSigningKeys } from '../../attestation/keys.ts';
import type { Result } from '../../domain/result.ts';
import { messageOf } from '../../platform/errors.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import { createLoop } from '../../platform/process/loop.ts';
import type { Attestor } from '../../releases/attest/attestor.ts';
import type { DoctorCheck } from '../../engine/check.ts';
import type { SettingsHolder } from './daemon-settings.ts';
import { compareKeys } from './settings-changes.ts';

/** Follows the files of the signing keys, so that keys rotate without a call. */
export interface SigningKeyWatch {
  /**
   * Reads the files again; signs with the keys that they hold now. Unusable files change nothing. When no attestation
   * can be issued with new keys, the next call issues it.
   */
  refresh(): Promise<void>;
  readonly check: DoctorCheck;
  /** Refreshes every second until `stop`. */
  start(): void;
  stop(): Promise<void>;
}

/** Milliseconds between two reads; the server reads its public keys as often. */
const INTERVAL_MS = 1000;

/** Creates the watch. While files are unusable, the previous keys keep signing, and the problem is logged once. */
export function createSigningKeyWatch(options: {
  readonly settings: SettingsHolder;
  /** Reads key files: the keys, or every problem. */
  readonly load: (files: readonly string[]) => Promise<Result<LoadedSigningKeys, readonly string[]>>;
  readonly attestor: Attestor;
  readonly clock: Clock;
  readonly logger: Logger;
}): SigningKeyWatch {
  const { settings, clock, logger } = options;
  let trouble: { readonly problem: string; readonly since: number } | null = null;
  /** Whether the current keys have not signed since they changed: no, not yet tried, or tried without success. */
  let owed: 'no' | 'new' | 'retried' = 'no';

  const noteTrouble = (problem: string | null): void => {
    if (problem === (trouble?.problem ?? null)) return;
    if (problem === null) logger.info('the signing keys are readable again');
    else logger.error({ problem }, 'the signing keys cannot be read again; the previous ones keep signing');
    trouble = problem === null ? null : { problem, since: trouble?.since ?? unixSeconds(clock) };
  };

  const attest = async (): Promise<void> => {
    try {
      await options.attestor.issue('the signing keys changed');
      owed = 'no';
      options.attestor.reschedule();
    } catch (error) {
      if (owed === 'new') {
        logger.error(
          { err: error },
          'no attestation could be issued with the new signing keys yet; retrying',
        );
      }
      owed = 'retried';
    }
  };

  const follow = async (): Promise<void> => {
    const before = settings.current();
    const loaded = await options.load(before.configuration.attestation.signingKeyFiles);
    // A reload was faster; the next turn reads the files that it names.
    if (settings.current() !== before) return;
    noteTrouble(loaded.ok ? null : loaded.error.join('; '));
    if (!loaded.ok) return;
    const change = compareKeys(before.signingKeys, loaded.value.keys);
    if (change.added.length + change.removed.length === 0) return;
    settings.replace({ ...before, signingKeys: loaded.value.keys });
    logger.warn(change, 'the signing keys have changed');
    owed = 'new';
  };

  const refresh = async (): Promise<void> => {
    await follow();
    if (owed !== 'no') await attest();
  };

  const loop = createLoop({
    clock,
    firstWaitMs: INTERVAL_MS,
    turn: async () => {
      await refresh();
      return INTERVAL_MS;
    },
    onFailure: (error) => {
      noteTrouble(messageOf(error));
      return INTERVAL_MS;
    },
  });

  return {
    refresh,
    check: {
      id: 'signing.keys',
      run: () => {
        const keys = settings.current().signingKeys.map(({ keyId }) => keyId.slice(0, 12));
        if (trouble === null) return { status: 'ok', message: `signing with ${keys.join(', ')}` };
        return {
          status: 'degraded',
          message: `${trouble.problem}; the previous keys (${keys.join(', ')}) keep signing until a restart`,
          since: trouble.since,
        };
      },
    },
    start: () => {
      loop.start();
    },
    stop: async () => await loop.stop(),
  };
}
