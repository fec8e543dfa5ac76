import { LOCAL_STEP, NO_MODEL, type TranslationProvider } from './provider.ts';
import { NO_USAGE } from './spending.ts';

/** The provider that makes no call: units that the memory does not know stay untranslated. */
export function createMemoryOnlyProvider(name: string): TranslationProvider {
  return {
    name,
    kind: 'memory-only',
    ...NO_MODEL,
    stepSize: LOCAL_STEP,
    requestsPerUnit: 0,
    beginRun: () => undefined,
    estimate: () => NO_USAGE,
    translateBatch: async ({ units, signal }) => {
      signal.throwIfAborted();
      const message = 'the provider takes translations from the memory only';
      const failures = units.map(
        ({ unitId }) =>
          ({ unitId, code: 'memory_only', message, retryAfterMs: null, isFinal: true }) as const,
      );
      return await Promise.resolve({ results: [], failures, usage: NO_USAGE });
    },
  };
}
