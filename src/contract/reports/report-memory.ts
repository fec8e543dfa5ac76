import { z } from 'zod';
import { MEMORY_STATES } from '../schemas/vocabulary.ts';
import { Count, Counts, ReleaseIdSchema, UnixSeconds } from '../schemas/answers/common.ts';
import { report } from './report-envelope.ts';

const StringMap = z.record(z.string(), z.string());

/** How many rows each pair of languages has. */
export const PairSchema = z.object({
  source_language: z.string(),
  target_language: z.string(),
  counts: Counts,
});

const ProvenanceSchema = z.object({
  origin: z.enum(['worker', 'task_update', 'proofread', 'import', 'manual']),
  provider: z.string().nullable(),
  provider_run_id: z.string().nullable(),
  task_id: z.string().nullable(),
  unit_id: z.string().nullable(),
  release_id: ReleaseIdSchema.nullable(),
});

/** One Translation Memory record. */
export const MemoryRecordSchema = z.object({
  record_id: z.string(),
  state: z.enum(MEMORY_STATES),
  source_language: z.string(),
  target_language: z.string(),
  source_text: z.string(),
  target_text: z.string(),
  context: StringMap,
  context_key: z.string().describe('Empty when the context names no place.'),
  is_default: z.boolean().describe('Whether it also serves units of other contexts; only trusted records.'),
  identity: z.string(),
  provenance: ProvenanceSchema,
  reviewer: z.string().nullable(),
  reason: z.string().nullable(),
  supersedes: z.string().nullable(),
  superseded_by: z.string().nullable(),
  created_at: UnixSeconds,
  confirmed_at: UnixSeconds.nullable(),
  use_count: Count,
  last_used_at: UnixSeconds.nullable(),
});

/** `translation.memory.summary`. */
export const MemorySummaryReport = report({
  available: z.boolean(),
  reason: z.string().describe('Why it is not available.').optional(),
  path: z.string(),
  counts: z.object({
    candidate: Count,
    trusted: Count,
    superseded: Count,
    rejected: Count,
    conflict_groups: Count,
  }),
  pairs: z.array(PairSchema),
});

/** `translation.memory.query`. */
export const MemoryQueryReport = report({
  source_text: z.string(),
  decision: z.enum(['reuse', 'suggest', 'conflict', 'none']),
  truncated: z
    .boolean()
    .describe(
      'Whether a search for one or two characters ended before it had read every record: the oldest may have more matches.',
    ),
  matches: z
    .array(
      z.object({
        record: MemoryRecordSchema,
        match_type: z.enum(['context', 'exact', 'normalized', 'numbers', 'fuzzy', 'concordance']),
        score: z.int().min(0).max(101),
        decision: z.enum(['reuse', 'suggest', 'conflict']),
        penalties: z.array(z.object({ code: z.string(), points: z.number() })),
        proposed_text: z
          .string()
          .describe('The target of the record; for `numbers` with the numbers of the query.'),
      }),
    )
    .describe('Best first.'),
});

/** `translation.memory.conflicts`. */
export const MemoryConflictsReport = report({
  total: Count.describe('Groups, including those beyond `limit`.'),
  limit: z.int().min(1).max(1000),
  groups: z
    .array(
      z.object({
        identity: z.string(),
        source_text: z.string(),
        context: StringMap,
        records: z.array(MemoryRecordSchema),
      }),
    )
    .describe('Ordered by `identity`.'),
});
