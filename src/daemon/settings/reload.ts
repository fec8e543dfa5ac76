import { ServiceError } from '../../contract/problems/service-error.ts';
import { failure, success, type Result } from '../../domain/result.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import { messageOf } from '../../platform/errors.ts';
import type { Attestor } from '../../releases/attest/attestor.ts';
import type { TaskResult } from '../../engine/tasks/task.ts';
import type { UpstreamConfiguration } from '../../upstream/upstream-config.ts';
import type { Upstream } from '../../upstream/adapters/connect-upstream.ts';
import type { OwnedUpstream } from '../../upstream/adapters/upstream-source.ts';
import type { DaemonConfiguration } from './config.ts';
import type { SettingsHolder, SettingsLoader } from './daemon-settings.ts';
import { tokenFileOf } from './config.ts';
import { createTokenFile } from '../../platform/files/token-file.ts';
import { compareKeys, compareSettings } from './settings-changes.ts';

interface ReloadOptions {
  readonly load: SettingsLoader;
  readonly settings: SettingsHolder;
  readonly upstream: Upstream;
  /** Reads what the rules of parsing name; gives one line for every problem. */
  readonly problemsOfRules: (configuration: DaemonConfiguration) => Promise<readonly string[]>;
  readonly attestor: Attestor;
  /** Makes the configured schedules follow a configuration. */
  readonly configureSchedules: (configuration: DaemonConfiguration) => void;
  readonly logger: Logger;
}

/** Sections whose change is a reason for a new attestation. */
const ATTESTED_SECTIONS = ['attestation.', 'retention.'];

/**
 * The action `reload`: reads configuration and keys again and swaps all of them. It checks the new ones before it changes
 * anything, and its error lists every problem.
 *
 * @returns a function that gives what changed, what needs a restart, and the attestation issued with the new keys
 */
export function createReload(deps: ReloadOptions): () => Promise<TaskResult> {
  const { settings, upstream, attestor, logger } = deps;
  return async () => {
    const before = settings.current();
    const loaded = await deps.load();
    if (!loaded.ok) throw invalid(loaded.error);
    const { effective, changed, restartRequired } = compareSettings(
      before.configuration,
      loaded.value.configuration,
    );
    const problems = await deps.problemsOfRules(effective);
    const upstreamChanged = changed.some((name) => name.startsWith('upstream.'));
    const connected = upstreamChanged ? connect(deps, effective.upstream) : success(null);
    if (!connected.ok) throw invalid([...problems, connected.error]);
    if (problems.length > 0) {
      await connected.value?.close();
      throw invalid(problems);
    }

    const tokenFile = tokenFileOf(effective);
    if (tokenFile !== null) await createTokenFile(tokenFile).catch(rejectTokenFile);

    // From here on nothing fails.
    settings.replace({ configuration: effective, signingKeys: loaded.value.signingKeys });
    if (upstreamChanged) upstream.replace(connected.value);
    logger.level = effective.log.level;
    for (const warning of loaded.value.warnings) logger.warn(warning);
    const warnings = [...loaded.value.warnings];
    configureSchedules(deps, effective, warnings);
    const keys = compareKeys(before.signingKeys, loaded.value.signingKeys);
    const attest =
      keys.added.length + keys.removed.length > 0 ||
      changed.some((name) => ATTESTED_SECTIONS.some((section) => name.startsWith(section)));
    const version = attest ? await reattest(deps, warnings) : null;
    if (attest) attestor.reschedule();
    logger.info(
      { changed, restart_required: restartRequired, signing_keys: keys, attestation_version: version },
      'settings reloaded',
    );
    return {
      changed,
      restart_required: restartRequired,
      signing_keys: keys,
      attestation_version: version,
      warnings,
    };
  };
}

/** A failure does not undo the reload: the next reload or start tries again. */
function configureSchedules(
  deps: ReloadOptions,
  configuration: DaemonConfiguration,
  warnings: string[],
): void {
  try {
    deps.configureSchedules(configuration);
  } catch (error) {
    deps.logger.error(
      { err: error },
      'the new settings are in effect, but the schedules could not be changed',
    );
    warnings.push('the schedules could not be changed; reload again');
  }
}

/** Attests with the new settings. A failure does not undo the reload: the renewal tries again. */
async function reattest({ attestor, logger }: ReloadOptions, warnings: string[]): Promise<number | null> {
  try {
    const version = await attestor.issue('reload');
    if (version === null)
      warnings.push('no release can be attested now; see the attestation check of the doctor');
    return version;
  } catch (error) {
    logger.error(
      { err: error },
      'the new settings are in effect, but no attestation could be issued with them yet',
    );
    warnings.push('no attestation could be issued with the new settings yet; retrying');
    return null;
  }
}

function connect(
  deps: ReloadOptions,
  configuration: UpstreamConfiguration,
): Result<OwnedUpstream | null, string> {
  try {
    return success(deps.upstream.connect(configuration));
  } catch (error) {
    return failure(`upstream: ${messageOf(error)}`);
  }
}

function rejectTokenFile(error: unknown): never {
  throw invalid([`tokenFile: ${messageOf(error)}`]);
}

function invalid(problems: readonly string[]): ServiceError {
  return new ServiceError(
    'config_invalid',
    `the new configuration is rejected, the old one stays in effect: ${problems.join('; ')}`,
    { errors: problems.map((message) => ({ pointer: '', message })) },
  );
}
