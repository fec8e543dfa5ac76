import { REVIEW_STATUSES } from '../../domain/glossary/term.ts';
import { z } from 'zod';
import { TermSourceSchema } from '../actions/control-body.ts';
import { int64 } from '../schemas/int64.ts';
import { Count, Counts, EXAMPLE, UnixSeconds } from '../schemas/answers/common.ts';
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

const TERM_EXAMPLE: z.input<typeof GlossaryTermSchema> = {
  term_id: 'gt_01KAJ2X6V5Q0E8T9R3W7Y1Z4BC',
  revision: 1,
  source_term: '先生',
  aliases: [],
  recommended_translation: '老师',
  allowed_translations: [],
  source_language: 'ja',
  target_language: 'zh-Hans',
  category: 'person',
  priority: 0,
  scope: {},
  review_status: 'approved',
  source: { source_kind: 'manual', observed_unix_seconds: EXAMPLE.at },
  created_at: EXAMPLE.at,
  updated_at: EXAMPLE.at,
  review_history: [
    {
      action: 'approve',
      from: 'draft',
      to: 'approved',
      reviewer: 'mika',
      token_id: null,
      reason: null,
      revision: 1,
      at: EXAMPLE.at,
    },
  ],
};

/** `translation.glossary.summary`. */
export const GlossarySummaryReport = report(
  'translation.glossary.summary',
  {
    available: z.boolean(),
    reason: z.string().describe('Why it is not available.').optional(),
    path: z.string(),
    counts: Counts.describe('Terms by review status.'),
    generation: Count.describe('Increases with every change.'),
    pairs: z.array(PairSchema),
  },
  {
    available: true,
    path: 'glossary.db',
    counts: { draft: 4, approved: 320, deprecated: 2, rejected: 1 },
    generation: 512,
    pairs: [{ source_language: 'ja', target_language: 'zh-Hans', counts: { approved: 320 } }],
  },
);

/** `translation.glossary.query`. */
export const GlossaryQueryReport = report(
  'translation.glossary.query',
  {
    total: Count.describe('Matching terms, including those beyond `limit`.'),
    limit: z.int().min(1).max(1000),
    items: z.array(GlossaryTermSchema),
  },
  { total: 1, limit: 100, items: [TERM_EXAMPLE] },
);

/** `translation.glossary.diagnose`. */
export const GlossaryDiagnoseReport = report(
  'translation.glossary.diagnose',
  {
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
  },
  {
    source_text: 'おはよう、先生',
    constraints: [
      {
        term_id: TERM_EXAMPLE.term_id,
        revision: 1,
        source_span: { start: 5, end: 7 },
        matched_text: '先生',
        recommended_translation: '老师',
        allowed_translations: [],
        requirement: 'must',
        scope: {},
        priority: 0,
      },
    ],
    diagnostics: [],
    decision: { blocked: false, codes: [] },
    qa_identity: 'gqa1_mzxw6ytboi2dgnbvgy3tqojq',
  },
);
