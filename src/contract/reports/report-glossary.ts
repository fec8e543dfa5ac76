import { REVIEW_STATUSES } from '../../domain/glossary/term.ts';
import { z } from 'zod';
import { TermSourceSchema } from '../actions/control-body.ts';
import { int64 } from '../schemas/int64.ts';
import { Count, Counts, UnixSeconds } from '../schemas/answers/common.ts';
import { PairSchema } from './report-memory.ts';
import { report } from './report-envelope.ts';

const StringMap = z.record(z.string(), z.string());
const Span = z.object({ start: Count, end: Count }).describe('UTF-16 offsets, the end exclusive.');

/** One Glossary term. */
export const GlossaryTermSchema = z.object({
  term_id: z.string(),
  revision: z.int().min(1),
  source_term: z.string(),
  aliases: z.array(z.string()),
  recommended_translation: z.string(),
  allowed_translations: z.array(z.string()),
  source_language: z.string(),
  target_language: z.string(),
  category: z.string(),
  priority: int64(),
  scope: StringMap,
  review_status: z.enum(REVIEW_STATUSES),
  source: TermSourceSchema,
  created_at: UnixSeconds,
  updated_at: UnixSeconds,
  review_history: z.array(
    z.object({
      action: z.string(),
      from: z.enum(REVIEW_STATUSES).nullable(),
      to: z.enum(REVIEW_STATUSES).nullable(),
      reviewer: z.string().nullable(),
      token_id: z.string().nullable().describe('The token of the call.'),
      reason: z.string().nullable(),
      revision: z.int().min(1),
      at: UnixSeconds,
    }),
  ),
});

/** `translation.glossary.summary`. */
export const GlossarySummaryReport = report({
  available: z.boolean(),
  reason: z.string().describe('Why it is not available.').optional(),
  path: z.string(),
  counts: Counts.describe('Terms by review status.'),
  generation: Count.describe('Increases with every change.'),
  pairs: z.array(PairSchema),
});

/** `translation.glossary.query`. */
export const GlossaryQueryReport = report({
  total: Count.describe('Matching terms, including those beyond `limit`.'),
  limit: z.int().min(1).max(1000),
  items: z.array(GlossaryTermSchema),
});

/** `translation.glossary.diagnose`. */
export const GlossaryDiagnoseReport = report({
  source_text: z.string(),
  constraints: z.array(
    z.object({
      term_id: z.string(),
      revision: z.int().min(1),
      source_span: Span,
      matched_text: z.string(),
      recommended_translation: z.string(),
      allowed_translations: z.array(z.string()),
      requirement: z.enum(['must', 'should', 'forbidden']),
      scope: StringMap,
      priority: int64(),
    }),
  ),
  diagnostics: z.array(
    z.object({
      code: z.string(),
      severity: z.enum(['error', 'warning', 'info']),
      term_ids: z.array(z.string()),
      span: Span.nullable(),
      message: z.string(),
    }),
  ),
  decision: z.object({ blocked: z.boolean(), codes: z.array(z.string()) }),
  qa_identity: z.string().describe('Identifies this diagnosis; an override must name it.'),
});
