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

export function statusOf(index: ReportedIndex | null): IndexStatus {
  if (index === null) return NOTHING_INDEXED;
  const { releaseId, generation, indexedAt, parserVersion, rulesDigest, totals } = index;
  return {
    ...totals,
    release_id: releaseId,
    generation,
    indexed_at: indexedAt,
    parser_version: parserVersion,
    rules_digest: Buffer.from(rulesDigest).toString('hex'),
  };
}

/** Whether an index is the one of a release, made by this parser with these rules. */
export function isCurrentIndex(status: IndexStatus, releaseId: string, rulesDigest: Blake3Hex): boolean {
  return (
    status.release_id === releaseId &&
    status.parser_version === PARSER_VERSION &&
    status.rules_digest === rulesDigest
  );
}
