import { createHash } from 'node:crypto';
import type { Finding } from './target-rows.ts';
import type { GlossaryOverride } from './task-update.ts';
import type { Work, WorkReader } from './work.ts';

/** A target with its findings. */
export interface JudgedTarget {
  readonly unitId: Uint8Array;
  readonly sourceDigest: Uint8Array;
  readonly text: string;
  readonly findings: readonly Finding[];
  readonly qaIdentity: string | null;
}

/** The digest of a target that a waiver is for. */
export function targetDigest(text: string): Uint8Array {
  return createHash('sha256').update(text).digest();
}

const FIND_OVERRIDE = 'SELECT 1 FROM glossary_override WHERE qa_identity = ? LIMIT 1';
const FIND_WAIVER = `SELECT 1 FROM waiver WHERE unit_id = ? AND target_language = ? AND check_name = ?
  AND source_digest = ? AND target_digest = ?`;

/** The findings that block a target: errors that nobody has accepted. */
export function blockingFindings(work: WorkReader, target: JudgedTarget): readonly Finding[] {
  const { unitId, sourceDigest, text, qaIdentity } = target;
  const errors = target.findings.filter(({ severity }) => severity === 'error');
  if (errors.length === 0) return errors;
  const isOverridden = qaIdentity !== null && work.sql(FIND_OVERRIDE).get(qaIdentity) !== undefined;
  const digest = targetDigest(text);
  return errors.filter(({ check, origin, waivable }) => {
    if (origin === 'glossary' && isOverridden) return false;
    if (!waivable) return true;
    const waiver = work.sql(FIND_WAIVER).get(unitId, work.targetLanguage, check, sourceDigest, digest);
    return waiver === undefined;
  });
}

/** Accepts a finding. The waiver is void as soon as the source or the target is another text. */
export function waiveFinding(
  work: Work,
  { unitId, sourceDigest, text }: JudgedTarget,
  check: string,
  by: { readonly reviewer: string | null; readonly reason: string | null; readonly tokenId: string | null },
): void {
  const place = [unitId, work.targetLanguage, check, sourceDigest, targetDigest(text)] as const;
  work
    .sql('INSERT OR IGNORE INTO waiver VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)')
    .run(...place, by.reviewer ?? '', by.reason ?? '', by.tokenId, work.now());
}

/** Accepts what the Glossary blocks for a unit. */
export function overrideGlossary(
  work: Work,
  unitId: Uint8Array,
  override: GlossaryOverride,
  by: { readonly taskId: string; readonly tokenId: string | null },
): void {
  const { qaIdentity, reviewer, reason, provenance, confirmedAt } = override;
  work
    .sql(
      `INSERT INTO glossary_override (qa_identity, unit_id, task_id, reviewer, reason,
      provenance, confirmed_at, token_id, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(qaIdentity, unitId, by.taskId, reviewer, reason, provenance, confirmedAt, by.tokenId, work.now());
}
