import { createHash } from 'node:crypto';
import type { Database } from '../../../../engine/database/sqlite-database.ts';
import type { Finding } from './target-rows.ts';
import type { TaskUpdate } from './task-update.ts';

/** A target with its findings. */
export interface JudgedTarget {
  readonly unitId: Uint8Array;
  readonly sourceDigest: Uint8Array;
  readonly text: string;
  readonly findings: readonly Finding[];
  readonly qaIdentity: string | null;
}

/** Decisions of reviewers to accept findings. A waiver is void as soon as the source or the target is another text. */
export interface AcceptedFindings {
  /** The findings that block a target: errors that nobody has accepted. */
  blocking(target: JudgedTarget): readonly Finding[];
  waive(
    target: JudgedTarget,
    check: string,
    by: Pick<TaskUpdate, 'reviewer' | 'reason' | 'tokenId'>,
    now: number,
  ): void;
  /** Stores an override for a unit. */
  override(unitId: Uint8Array, by: Pick<TaskUpdate, 'override' | 'taskId' | 'tokenId'>, now: number): void;
}

/** The digest of a target that a waiver is for. */
export function targetDigest(text: string): Uint8Array {
  return createHash('sha256').update(text).digest();
}

/** Creates the decisions of one target language. */
export function createAcceptedFindings(
  database: Pick<Database, 'prepare'>,
  targetLanguage: string,
): AcceptedFindings {
  const waived =
    database.prepare(`SELECT 1 FROM waiver WHERE unit_id = ? AND target_language = ? AND check_name = ?
    AND source_digest = ? AND target_digest = ?`);
  const overridden = database.prepare('SELECT 1 FROM glossary_override WHERE qa_identity = ? LIMIT 1');
  const addWaiver = database.prepare('INSERT OR IGNORE INTO waiver VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)');
  const addOverride =
    database.prepare(`INSERT INTO glossary_override (qa_identity, unit_id, task_id, reviewer, reason,
    provenance, confirmed_at, token_id, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  return {
    blocking: ({ unitId, sourceDigest, text, findings, qaIdentity }) => {
      const errors = findings.filter(({ severity }) => severity === 'error');
      if (errors.length === 0) return errors;
      const isOverridden = qaIdentity !== null && overridden.get(qaIdentity) !== undefined;
      const digest = targetDigest(text);
      return errors.filter(({ check, origin, waivable }) => {
        if (origin === 'glossary' && isOverridden) return false;
        return !waivable || waived.get(unitId, targetLanguage, check, sourceDigest, digest) === undefined;
      });
    },
    waive: ({ unitId, sourceDigest, text }, check, { reviewer, reason, tokenId }, now) => {
      const digest = targetDigest(text);
      addWaiver.run(
        unitId,
        targetLanguage,
        check,
        sourceDigest,
        digest,
        reviewer ?? '',
        reason ?? '',
        tokenId,
        now,
      );
    },
    override: (unitId, { override, taskId, tokenId }, now) => {
      if (override === null) return;
      const { qaIdentity, reviewer, reason, provenance, confirmedAt } = override;
      addOverride.run(qaIdentity, unitId, taskId, reviewer, reason, provenance, confirmedAt, tokenId, now);
    },
  };
}
