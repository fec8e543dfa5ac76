import { countText } from '../../domain/count-text.ts';
import type { DoctorCheck } from '../../engine/check.ts';
import { RESTORE_ADVICE, unavailableReason } from './memory-failure.ts';
import type { MemoryThread } from './memory-worker.ts';
import type { MemoryCounts } from './store/memory-reads.ts';

interface MemoryCheckDependencies {
  readonly thread: MemoryThread;
  /** The finding of the last check of the structure, or `null`. */
  readonly finding: () => string | null;
  /** Called with the counts of each run; `null` when the file cannot be used. */
  readonly onCounted: (counts: MemoryCounts | null) => void;
}

/** The doctor check `database.memory`: whether the main file can be used. */
export function createMemoryCheck({ thread, finding, onCounted }: MemoryCheckDependencies): DoctorCheck {
  return {
    id: 'database.memory',
    atStart: true,
    run: async (signal) => {
      try {
        const found = await thread.summary({ path: null }, { signal });
        onCounted(found);
        const damage = finding() ?? (await thread.damage(null, { signal }));
        if (damage !== null) return { status: 'failing', message: `damaged: ${damage}; ${RESTORE_ADVICE}` };
        const { trusted, candidate, conflict_groups: conflicts } = found.counts;
        return {
          status: 'ok',
          message: `${countText(trusted, 'trusted record')} and ${countText(candidate, 'candidate')}, ${countText(conflicts, 'conflict')}`,
        };
      } catch (error) {
        signal.throwIfAborted();
        onCounted(null);
        return { status: 'failing', message: unavailableReason(error) };
      }
    },
  };
}
