import { createBreaker, type Breaker, type BreakerState } from './breaker.ts';
import { readFixtureFile } from './fixture-file.ts';
import { providerNamed, type ProviderConfiguration } from './provider-config.ts';
import type { ProviderWorld } from './provider-http.ts';
import type { TranslationProvider } from './provider.ts';
import { createRateLimit } from './rate-limit.ts';

/** The providers of the configuration. Runs that use the same one share its rate limit and its breaker. */
export interface ProviderSet {
  /** How the requests to a provider went; `null` when it was not used since the start of the program, or sends none. */
  stateOf(name: string): BreakerState | null;
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

/** Makes the set. It reads no file, opens no connection and loads no code of a provider before that is used. */
export function createProviderSet(
  providers: Readonly<Record<string, ProviderConfiguration>>,
  world: ProviderWorld,
): ProviderSet {
  const opened = new Map<string, Promise<TranslationProvider>>();
  const breakers = new Map<string, Breaker>();

  const create = async (name: string, config: ProviderConfiguration): Promise<TranslationProvider> => {
    if (config.kind === 'memory-only')
      return (await import('./memory-only-provider.ts')).createMemoryOnlyProvider(name);
    const { requestsPerMinute = null, charactersPerMinute = null } = config.limits;
    const rateLimit = createRateLimit({ requestsPerMinute, charactersPerMinute }, world.clock);
    const { attempts: most, longestWaitSeconds } = config.limits;
    const breaker = createBreaker({ ...world, most, longestWaitMs: longestWaitSeconds * 1000 });
    breakers.set(name, breaker);
    const options = { ...world, config, rateLimit, breaker };
    const provider =
      config.kind === 'openai'
        ? (await import('./openai-provider.ts')).createOpenAiProvider(name, options)
        : config.kind === 'deepl'
          ? (await import('./deepl-provider.ts')).createDeeplProvider(name, options)
          : (await import('./libretranslate-provider.ts')).createLibreTranslateProvider(name, options);
    return config.fallback === undefined
      ? provider
      : { ...provider, fallback: await openNamed(config.fallback) };
  };

  const openNamed = async (name: string): Promise<TranslationProvider | null> => {
    const config = providerNamed(providers, name);
    if (config === null) return null;
    const provider = opened.get(name) ?? create(name, config);
    opened.set(name, provider);
    return await provider;
  };

  return {
    stateOf: (name) => breakers.get(name)?.state() ?? null,
    open: async ({ name, fixturePath, signal }) => {
      const config = providerNamed(providers, name);
      if (config === null) return null;
      if (config.kind === 'fixture') {
        if (fixturePath === null) return null;
        const { createFixtureProvider } = await import('./fixture-provider.ts');
        return await createFixtureProvider(name, config, await readFixtureFile(fixturePath, signal), signal);
      }
      return await openNamed(name);
    },
  };
}
