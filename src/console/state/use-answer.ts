import { useEffect, useState } from 'preact/hooks';
import { type ApiFailure, failureOf } from '../api/api-client.ts';

/** Shortest pause before a question that got no answer is asked again, milliseconds: the server may be away for a moment. */
const AGAIN_MS = 5000;

export interface Answer<T> {
  readonly value: T | null;
  readonly isOld: boolean;
  readonly failure: ApiFailure | null;
}

/**
 * Asks when the question has rested for a while; a newer question ends an older one. A question that the server could not
 * answer now is asked again until it does.
 *
 * @param question identifies the question; `null` asks nothing
 * @param ask @throws ApiFailure
 * @param restMs milliseconds
 */
export function useAnswer<T>(
  question: string | null,
  ask: (signal: AbortSignal) => Promise<T>,
  restMs: number,
): Answer<T> {
  const [known, setKnown] = useState<{ readonly question: string | null } & Omit<Answer<T>, 'isOld'>>({
    question: null,
    value: null,
    failure: null,
  });
  useEffect(() => {
    if (question === null) return undefined;
    const stop = new AbortController();
    const askNow = async (): Promise<void> => {
      try {
        const value = await ask(stop.signal);
        if (!stop.signal.aborted) setKnown({ question, value, failure: null });
      } catch (error) {
        if (stop.signal.aborted) return;
        const failure = failureOf(error);
        setKnown({ question, value: null, failure });
        const pause = Math.max(AGAIN_MS, 1000 * (failure.retryAfter ?? 0));
        if (failure.isPassing) timer = setTimeout(() => void askNow(), pause);
      }
    };
    let timer = setTimeout(() => void askNow(), restMs);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [question]);
  if (question === null) return { value: null, isOld: false, failure: null };
  const { value, failure } = known;
  return { value, failure, isOld: known.question !== question };
}
