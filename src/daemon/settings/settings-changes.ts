import { isRecord } from '../../domain/is-record.ts';
import { isDeepStrictEqual } from 'node:util';
import type { SigningKey } from '../../attestation/keys.ts';
import type { DaemonConfiguration } from './config.ts';

/** Settings that are fixed from the start of the daemon to its end. */
export const FIXED_SETTINGS = [
  'listen.host',
  'listen.port',
  'listen.socketPath',
  'metrics.host',
  'metrics.port',
  'snapshot.root',
  'snapshot.adopt',
  'data.dir',
  'hashing.threads',
  'translation.targetLanguage',
] as const;

/** The effect of a new configuration on a running daemon. */
interface SettingsChanges {
  /** The new configuration, except for settings that cannot change while the daemon runs. */
  readonly effective: DaemonConfiguration;
  /** Settings that change now, by name. */
  readonly changed: readonly string[];
  /** Settings that differ from what the daemon runs with and need a restart, by name. */
  readonly restartRequired: readonly string[];
}

/**
 * Compares a configuration with the one that the daemon runs with.
 *
 * @param running the current configuration; its fixed settings are those of the start
 */
export function compareSettings(running: DaemonConfiguration, next: DaemonConfiguration): SettingsChanges {
  const [before, after] = [flatten(running), flatten(next)];
  const names = [...new Set([...before.keys(), ...after.keys()])].sort();
  const differing = names.filter((name) => !isDeepStrictEqual(before.get(name), after.get(name)));
  const isFixed = (name: string): boolean => FIXED_SETTINGS.some((fixed) => fixed === name);
  return {
    effective: {
      ...next,
      listen: { ...running.listen, allowedHosts: next.listen.allowedHosts },
      metrics: running.metrics,
      data: running.data,
      hashing: running.hashing,
      translation: { ...next.translation, targetLanguage: running.translation.targetLanguage },
      snapshot: { ...next.snapshot, root: running.snapshot.root, adopt: running.snapshot.adopt },
    },
    changed: differing.filter((name) => !isFixed(name)),
    restartRequired: differing.filter(isFixed),
  };
}

/** Values by their names with dots; a list is one value. */
function flatten(value: object, path: readonly string[] = []): Map<string, unknown> {
  const flat = new Map<string, unknown>();
  for (const [key, member] of Object.entries(value) as Array<[string, unknown]>) {
    const at = [...path, key];
    if (isRecord(member)) {
      for (const [name, inner] of flatten(member, at)) flat.set(name, inner);
    } else if (member !== undefined) flat.set(at.join('.'), member);
  }
  return flat;
}

/** The ids of the keys that were added and removed; the files may have the same names and hold others. */
export function compareKeys(
  before: readonly SigningKey[],
  after: readonly SigningKey[],
): { readonly added: readonly string[]; readonly removed: readonly string[] } {
  const [old, next] = [before, after].map((keys) => keys.map(({ keyId }) => keyId));
  return {
    added: (next ?? []).filter((keyId) => old?.includes(keyId) !== true),
    removed: (old ?? []).filter((keyId) => next?.includes(keyId) !== true),
  };
}
