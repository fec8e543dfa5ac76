import type { Blake3Hex } from '../../domain/release/digest.ts';
import { PARSER_VERSION } from './container/parser-version.ts';
import type { IndexStatus } from './index/index-status.ts';

/** Whether an index is the one of a release, made by this parser with these rules. */
export function isCurrentIndex(status: IndexStatus, releaseId: string, rulesDigest: Blake3Hex): boolean {
  return (
    status.release_id === releaseId &&
    status.parser_version === PARSER_VERSION &&
    status.rules_digest === rulesDigest
  );
}
