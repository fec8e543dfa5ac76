import type { SigningKey } from '../../attestation/keys.ts';
import type { Result } from '../../domain/result.ts';
import type { Setting } from '../../engine/setting.ts';
import type { DaemonConfiguration } from './config.ts';

/** The configuration of the daemon and the keys that it names. */
export interface DaemonSettings {
  readonly configuration: DaemonConfiguration;
  readonly signingKeys: readonly SigningKey[];
}

/** Settings that were read again, and warnings about their files. */
export interface LoadedSettings extends DaemonSettings {
  readonly warnings: readonly string[];
}

/** Reads the configuration and the keys again: the settings, or every problem of theirs. */
export type SettingsLoader = () => Promise<Result<LoadedSettings, readonly string[]>>;

/** The settings that apply now. */
export interface SettingsHolder extends Setting<DaemonSettings> {
  /** Swaps all of them: every later call of `current` gives the new ones. */
  replace(next: DaemonSettings): void;
}

/** Creates a holder. */
export function createSettingsHolder(first: DaemonSettings): SettingsHolder {
  let settings = first;
  return {
    current: () => settings,
    replace: (next) => {
      settings = next;
    },
  };
}
