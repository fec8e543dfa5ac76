import { messageOf } from '../../platform/errors.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { ThreadError } from '../../platform/threads/thread.ts';
import { checkStructureInThread } from '../../engine/database/structure-thread.ts';
import type { DoctorCheck } from '../../engine/check.ts';
import { unavailableReason } from './glossary-failure.ts';
import type { GlossarySummary } from './glossary-worker.ts';

/** Checking the structure reads the whole file, so a result is reused for this time. */
const STRUCTURE_EVERY_MS = 3_600_000;

/** The doctor check `database.glossary`: whether the file can be used, and is sound. */
export function createGlossaryCheck({
  path,
  summary,
  damage,
  clock,
  checkStructure = checkStructureInThread,
}: {
  readonly path: string;
  readonly summary: (signal: AbortSignal) => Promise<GlossarySummary>;
  /** Which value of the file is damaged; `null` while none was read. */
  readonly damage: () => Promise<string | null>;
  readonly clock: Clock;
  readonly checkStructure?: (path: string) => Promise<string | null>;
}): DoctorCheck {
  // The structure is checked when the file is opened.
  let checkedAt = clock.monotonic();
  let finding: string | null = null;
  let isChecking = false;
  const check = async (): Promise<void> => {
    isChecking = true;
    try {
      finding = await checkStructure(path);
      checkedAt = clock.monotonic();
    } catch (error) {
      // A thread that could not do its work says nothing about the file.
      if (!(error instanceof ThreadError)) finding = messageOf(error);
    } finally {
      isChecking = false;
    }
  };
  return {
    id: 'database.glossary',
    atStart: true,
    run: async (signal) => {
      let state: GlossarySummary;
      let damaged: string | null;
      try {
        state = await summary(signal);
        damaged = await damage();
      } catch (error) {
        signal.throwIfAborted();
        return { status: 'failing', message: unavailableReason(error) };
      }
      const isDue = finding !== null || clock.monotonic() - checkedAt >= STRUCTURE_EVERY_MS;
      if (isDue && !isChecking) void check();
      const found = finding ?? damaged;
      if (found !== null) {
        return {
          status: 'failing',
          message: `the Glossary ${path} is damaged: ${found}; stop the daemon and restore it from a backup with "slipway restore --database glossary"`,
        };
      }
      const { counts, generation } = state;
      const terms = Object.entries(counts).map(([status, count]) => `${count} ${status}`);
      return { status: 'ok', message: `sound, terms: ${terms.join(', ')}; generation ${generation}` };
    },
  };
}
