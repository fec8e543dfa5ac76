import { createBreaker } from './breaker.ts';
import { createFixtureProvider } from './fixture-provider.ts';
import { readFixtureFile } from './fixture-file.ts';
import { createLibreTranslateProvider } from './libretranslate-provider.ts';
import { createMemoryOnlyProvider } from './memory-only-provider.ts';
import { createOpenAiProvider } from './openai-provider.ts';
import { providerNamed, type ProviderConfiguration } from './provider-config.ts';
import type { ProviderWorld } from './provider-http.ts';
import type { TranslationProvider } from './provider.ts';
import { createRateLimit } from './rate-limit.ts';

/** The providers of the configuration. Runs that use the same one share its rate limit and its breaker. */
export interface ProviderSet {
  /**
   * @param choice.fixturePath the file of a fixture, confined by the caller; `null` when the run names none
   * @returns `null` for a name that is not configured, and for a fixture without a file
   * @throws FixtureFileError
   */
  open(choice: {
    readonly name: string;
    readonly fixturePath: string | null;
    readonly signal: AbortSignal;
  }): Promise<TranslationProvider | null>;
}

/** Makes the set. It reads no file and opens no connection before a provider is used. */
export function createProviderSet(
  providers: Readonly<Record<string, ProviderConfiguration>>,
  world: ProviderWorld,
): ProviderSet {
  const opened = new Map<string, TranslationProvider>();

  const create = (name: string, config: ProviderConfiguration): TranslationProvider => {
    if (config.kind === 'memory-only') return createMemoryOnlyProvider(name);
    const { requestsPerMinute = null, charactersPerMinute = null } = config.limits;
    const rateLimit = createRateLimit({ requestsPerMinute, charactersPerMinute }, world.clock);
    const { attempts: most, longestWaitSeconds } = config.limits;
    // Another provider can be asked at once.
    const longestWaitMs = config.fallback === undefined ? longestWaitSeconds * 1000 : 0;
    const breaker = createBreaker({ ...world, most, longestWaitMs });
    const options = { ...world, config, rateLimit, breaker };
    const provider =
      config.kind === 'openai'
        ? createOpenAiProvider(name, options)
        : createLibreTranslateProvider(name, options);
    return config.fallback === undefined ? provider : { ...provider, fallback: openNamed(config.fallback) };
  };

  const openNamed = (name: string): TranslationProvider | null => {
    const config = providerNamed(providers, name);
    if (config === null) return null;
    const provider = opened.get(name) ?? create(name, config);
    opened.set(name, provider);
    return provider;
  };

  return {
    open: async ({ name, fixturePath, signal }) => {
      const config = providerNamed(providers, name);
      if (config === null) return null;
      if (config.kind === 'fixture') {
        if (fixturePath === null) return null;
        return await createFixtureProvider(name, config, await readFixtureFile(fixturePath, signal), signal);
      }
      return openNamed(name);
    },
  };
}
