import type { ConfigurationKey } from './configuration-key.ts';

/** One value from one source, with the words that name where it was written. */
export interface Setting {
  readonly key: ConfigurationKey;
  readonly value: unknown;
  /** Such as `flag --cdn.host` or `environment SLIPWAY_CDN_HOST`. */
  readonly origin: string;
}

/** The settings of one source, and all its problems. */
export interface ConfigurationLayer {
  readonly settings: readonly Setting[];
  /** Names of the keys that were given a value that cannot be read. */
  readonly rejected: readonly string[];
  readonly problems: readonly string[];
}
