import type { z } from 'zod';
import type { ParseStatusReport } from '../../../contract/reports/report-parse.ts';
import type { ReportedIndex } from './read/reported-index.ts';
import type { Blake3Hex } from '../../../domain/release/digest.ts';
import { PARSER_VERSION } from '../container/parsed-container.ts';

export type IndexStatus = Omit<z.output<typeof ParseStatusReport.body>, 'last_run' | 'replaced'>;

const NOTHING_INDEXED: IndexStatus = {
  release_id: null,
  generation: 0,
  indexed_at: null,
  containers: 0,
  by_parse_status: {},
  by_format: {},
  units: 0,
  errors: 0,
  warnings: 0,
  errors_by_code: {},
  skipped: {},
  seconds: 0,
  bytes: 0,
  parser_version: null,
  rules_digest: null,
  carry_over: null,
};

/** The fields of `parse.status` for the reported release. */
export function statusOf(index: ReportedIndex | null): IndexStatus {
  if (index === null) return NOTHING_INDEXED;
  const { releaseId, generation, indexedAt, parserVersion, rulesDigest, totals } = index;
  return {
    release_id: releaseId,
    generation,
    indexed_at: indexedAt,
    containers: totals.containers,
    by_parse_status: totals.byParseStatus,
    by_format: totals.byFormat,
    units: totals.units,
    errors: totals.errors,
    warnings: totals.warnings,
    errors_by_code: totals.errorsByCode,
    skipped: totals.skipped,
    seconds: totals.seconds,
    bytes: totals.bytes,
    parser_version: parserVersion,
    rules_digest: Buffer.from(rulesDigest).toString('hex'),
    carry_over: totals.carryOver === null ? null : carryOverFields(totals.carryOver),
  };
}

/** The counts of a carry-over as reports and task results show them. */
export function carryOverFields({
  previousReleaseId,
  ...counts
}: NonNullable<ReportedIndex['totals']['carryOver']>): NonNullable<IndexStatus['carry_over']> {
  return { previous_release_id: previousReleaseId, ...counts };
}

/** Whether an index is the one of a release, made by this parser with these rules. */
export function isCurrentIndex(status: IndexStatus, releaseId: string, rulesDigest: Blake3Hex): boolean {
  return (
    status.release_id === releaseId &&
    status.parser_version === PARSER_VERSION &&
    status.rules_digest === rulesDigest
  );
}
