import type { UnitState } from '../../../../domain/translation/unit-state.ts';
import { sameBytes } from '../store/target-rows.ts';
import type { WorkTools } from '../store/work-tools.ts';

interface ExportQuery {
  readonly releaseId: string;
  /** Of the parse index. */
  readonly generation: number;
  readonly units: readonly { readonly unitId: Uint8Array; readonly sourceDigest: Uint8Array }[];
}

/** The target of a unit for people who work on a file. */
export interface ExportedTarget {
  readonly state: UnitState | 'published';
  readonly revision: number;
  /** For the source of the release; `null` without one. */
  readonly text: string | null;
  /** Of a stale unit. */
  readonly previousSource: string | null;
  readonly previousTarget: string | null;
}

/** Targets for files. */
export interface ExportTargets {
  /**
   * Reads targets.
   *
   * @returns one answer for each unit, in their order, `null` for those of skipped tasks; and `null` instead when the tasks are not
   * those of the release and the generation
   */
  exportTargets(query: ExportQuery): readonly (ExportedTarget | null)[] | null;
}

/** Creates the reader of targets in one target language. */
export function createExportReader({ database, targetLanguage, targets }: WorkTools): ExportTargets {
  const build = database.prepare(`SELECT build_id FROM build
    WHERE target_language = ? AND state = 'current' AND release_id = ? AND generation = ?`);
  const status = database.prepare(`SELECT stored_status FROM task_unit JOIN task USING (task_seq)
    WHERE unit_id = ? AND build_id = ?`);
  return {
    exportTargets: ({ releaseId, generation, units }) => {
      const found = build.get(targetLanguage, releaseId, generation);
      if (found === undefined) return null;
      const buildId = Number(found['build_id']);
      return units.map(({ unitId, sourceDigest }) => {
        const task = status.get(unitId, buildId);
        if (task === undefined || task['stored_status'] === 'skipped') return null;
        const target = targets.get(unitId);
        if (target === null) return { ...NO_TARGET, state: 'untranslated', revision: 0 };
        const { text, sourceText, revision } = target;
        if (target.state === 'stale' || !sameBytes(target.sourceDigest, sourceDigest)) {
          return { ...NO_TARGET, state: 'stale', revision, previousSource: sourceText, previousTarget: text };
        }
        const isPublished = target.state === 'proofread' && task['stored_status'] === 'published';
        return { ...NO_TARGET, state: isPublished ? 'published' : target.state, revision, text };
      });
    },
  };
}

const NO_TARGET = { text: null, previousSource: null, previousTarget: null };
