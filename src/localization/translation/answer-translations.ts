import type { FoundTranslations, TranslationsRequest } from '../parse/index/read/unit-translations.ts';
import { unavailableReason } from './work/translation-failure.ts';
import type { TranslationThread } from './work/translation-worker.ts';

/** Milliseconds to wait for the thread. It can be busy with the tasks of a new release; the server waits 5 s for a report. */
const WAIT_MS = 2500;

/**
 * Reads the translations of the units of a page.
 *
 * @param sourceLanguage of the releases
 * @param waitMs longest wait for the thread, in milliseconds
 */
export async function readTranslations(
  thread: TranslationThread,
  sourceLanguage: string,
  request: TranslationsRequest,
  signal: AbortSignal,
  waitMs = WAIT_MS,
): Promise<(FoundTranslations & { readonly sourceLanguage: string }) | { readonly unavailable: string }> {
  const tooLate = AbortSignal.timeout(waitMs);
  const { promise: busy, resolve } = Promise.withResolvers<{ readonly unavailable: string }>();
  tooLate.addEventListener('abort', () => {
    resolve({ unavailable: 'translation.db is busy, for example with the tasks of a release; try again' });
  });
  try {
    // A busy thread does not even see that a call is cancelled.
    const call = thread.translations(request, { signal: AbortSignal.any([signal, tooLate]) });
    const found = await Promise.race([call, busy]);
    return 'unavailable' in found ? found : { ...found, sourceLanguage };
  } catch (error) {
    signal.throwIfAborted();
    const unavailable = unavailableReason(error);
    if (unavailable === null) throw error;
    return { unavailable };
  }
}
