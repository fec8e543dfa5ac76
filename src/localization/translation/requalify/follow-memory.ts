import { normalText } from '../../../domain/text/normal-text.ts';
import type { TranslationMemory } from '../../memory/translation-memory.ts';
import type { SupersededWording } from '../work/repetition/superseded-wording.ts';
import type { TranslationThread } from '../work/translation-worker.ts';

/**
 * Marks the targets that came from superseded records and that nobody has reviewed. Repeating it changes nothing.
 *
 * @param recordIds records that others have replaced; one that is trusted again is passed over
 * @returns how many targets were marked
 * @throws an Error of the Translation Memory or of the translation thread; the signal's reason
 */
export async function followMemory(
  thread: TranslationThread,
  memory: TranslationMemory,
  recordIds: readonly string[],
  signal: AbortSignal,
): Promise<number> {
  let marked = 0;
  for (const recordId of recordIds) {
    signal.throwIfAborted();
    const wording = await supersededWording(memory, recordId);
    if (wording === null) continue;
    let after: Uint8Array | null = null;
    do {
      const part: { readonly marked: number; readonly next: Uint8Array | null } = await thread.markSuperseded(
        { wording, after },
        { signal },
      );
      marked += part.marked;
      after = part.next;
    } while (after !== null);
  }
  return marked;
}

async function supersededWording(
  memory: TranslationMemory,
  recordId: string,
): Promise<SupersededWording | null> {
  const old = await memory.record(recordId);
  if (old?.state !== 'superseded' || old.superseded_by === null) return null;
  const winner = await memory.record(old.superseded_by);
  if (winner?.state !== 'trusted' || normalText(winner.target_text) === normalText(old.target_text)) {
    return null;
  }
  return {
    sourceText: old.source_text,
    targetText: old.target_text,
    wordingNow: winner.target_text,
    reason: `the Translation Memory replaced ${old.record_id} by ${winner.record_id}`,
  };
}
