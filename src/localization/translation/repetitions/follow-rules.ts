import type { TextRules } from '../judge/text-rules.ts';
import type { TranslationThread } from '../work/translation-worker.ts';

/**
 * Writes for each container of the current tasks whether its rule lets its units take part in repetitions.
 *
 * @throws Error of the thread; the signal's reason
 */
export async function followRules(
  thread: TranslationThread,
  rules: TextRules,
  signal: AbortSignal,
): Promise<void> {
  let after = -1;
  let hasChanged = false;
  for (;;) {
    const page = await thread.repeatingContainers(after, { signal });
    const last = page.at(-1);
    if (last === undefined) break;
    const changes = page.flatMap(({ taskSeq, destination, archiveEntry, repeats }) => {
      const { repetitions } = rules.ruleFor(destination, archiveEntry).constraints;
      return repetitions === repeats ? [] : { taskSeq, repeats: repetitions };
    });
    if (changes.length > 0) await thread.setRepeating(changes, { signal });
    hasChanged ||= changes.some(({ repeats }) => repeats);
    after = last.taskSeq;
  }
  if (hasChanged) await thread.sweepRepetitionsAgain(null, { signal });
}
