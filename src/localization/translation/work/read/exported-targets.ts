import type { UnitState } from '../../../../domain/translation/unit-state.ts';
import { currentBuild, type BuiltFor } from '../store/builds.ts';
import { sameBytes } from '../store/target-rows.ts';
import { getTarget } from '../store/target-store.ts';
import type { Work } from '../store/work.ts';

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

const NO_TARGET = { text: null, previousSource: null, previousTarget: null };

/**
 * Reads targets for a file.
 *
 * @returns one answer for each unit, in their order, `null` for those of skipped tasks; and `null` instead when the tasks are not
 * those of the release and the generation
 */
export function exportTargets(
  work: Work,
  query: BuiltFor & {
    readonly units: readonly { readonly unitId: Uint8Array; readonly sourceDigest: Uint8Array }[];
  },
): readonly (ExportedTarget | null)[] | null {
  const buildId = currentBuild(work, query);
  if (buildId === null) return null;
  const status = work.sql(
    'SELECT stored_status FROM task_unit JOIN task USING (task_seq) WHERE unit_id = ? AND build_id = ?',
  );
  return query.units.map(({ unitId, sourceDigest }) => {
    const task = status.get(unitId, buildId);
    if (task === undefined || task['stored_status'] === 'skipped') return null;
    const target = getTarget(work, unitId);
    if (target === null) return { ...NO_TARGET, state: 'untranslated', revision: 0 };
    const { text, sourceText, revision } = target;
    if (target.state === 'stale' || !sameBytes(target.sourceDigest, sourceDigest)) {
      return { ...NO_TARGET, state: 'stale', revision, previousSource: sourceText, previousTarget: text };
    }
    const isPublished = target.state === 'proofread' && task['stored_status'] === 'published';
    return { ...NO_TARGET, state: isPublished ? 'published' : target.state, revision, text };
  });
}

/** Records a complete file for translators. @param written.file the path below the exchange folder @param written.createdAt Unix seconds */
export function addExport(
  work: Work,
  written: {
    readonly releaseId: string;
    readonly file: string;
    /** Lower-case hexadecimal. */
    readonly sha256: string;
    readonly units: number;
    readonly createdAt: number;
  },
): void {
  const { releaseId, file, sha256, units, createdAt } = written;
  work
    .sql(
      `INSERT INTO handoff_export (release_id, target_language, file, sha256, units, created_at)
      VALUES (?, ?, ?, ?, ?, ?)`,
    )
    .run(releaseId, work.targetLanguage, file, sha256, units, createdAt);
}
