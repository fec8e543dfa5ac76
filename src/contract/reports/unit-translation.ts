import { z } from 'zod';
import { UNIT_STATES } from '../../domain/translation/unit-state.ts';
import { Count, ReleaseIdSchema, UnixSeconds } from '../schemas/answers/common.ts';
import { AUTHOR_KINDS, CARRY_TIERS } from '../schemas/vocabulary.ts';

const Span = z
  .object({ start: Count, end: Count })
  .describe('UTF-16 code units, from `start` up to and without `end`.');

/** Someone who works on a unit, until the lease or the claim expires. */
const Holder = z.object({ owner: z.string(), expires_at: UnixSeconds });

const AuthorSchema = z.object({
  kind: z.enum(AUTHOR_KINDS),
  token_id: z
    .string()
    .nullable()
    .describe(
      'The token that sent the target. For the kind `memory` the token that alone wrote and confirmed the record.',
    ),
  provider: z.string().nullable(),
  provider_run_id: z.string().nullable(),
});

/** The translation of one text unit. */
export const UnitTranslationSchema = z.object({
  task_id: z.string().nullable().describe('Null while the tasks of this release are not built.'),
  state: z.enum(UNIT_STATES),
  revision: Count.describe('Grows with every change; 0 without a target. `expect` of an update names it.'),
  target_text: z.string().nullable().describe('The target for this source text; null without one.'),
  previous_source: z
    .string()
    .nullable()
    .describe('The source of a stale unit before it changed; null for others.'),
  previous_target: z.string().nullable().describe('The target for `previous_source`.'),
  is_cut: z
    .boolean()
    .describe('Whether one of these texts is only the beginning of one of more than 262,144 characters.'),
  carried_by: z
    .enum(CARRY_TIERS)
    .nullable()
    .describe('How the task follows the release before; null for a new unit.'),
  author: AuthorSchema.nullable(),
  findings: z.array(
    z.object({
      check: z.string(),
      origin: z.enum(['target', 'glossary', 'evaluation']),
      severity: z.enum(['error', 'warning', 'info']),
      message: z.string(),
      waivable: z.boolean(),
      source_span: Span.nullable(),
      target_span: Span.nullable(),
    }),
  ),
  qa_identity: z.string().nullable().describe('Of the Glossary diagnosis; an override names it.'),
  glossary_override: z
    .object({ reviewer: z.string(), reason: z.string(), provenance: z.string(), confirmed_at: UnixSeconds })
    .nullable()
    .describe('The newest override for this `qa_identity`.'),
  waivers: z
    .array(
      z.object({
        check: z.string(),
        reviewer: z.string(),
        reason: z.string(),
        token_id: z.string().nullable(),
        at: UnixSeconds,
      }),
    )
    .describe('The accepted findings of exactly this source and target.'),
  hold: z
    .object({ reviewer: z.string().nullable(), reason: z.string().nullable(), at: UnixSeconds })
    .nullable()
    .describe('Set: workers leave the unit alone.'),
  returned: z
    .object({ reviewer: z.string().nullable(), reason: z.string().nullable(), at: UnixSeconds })
    .nullable()
    .describe('Set: a reviewer has returned the target, and nobody has changed it since.'),
  propagated_from: z.string().nullable().describe('The unit that a repetition has its target from.'),
  claim: Holder.nullable().describe('The person who works on the unit.'),
  lease: Holder.nullable().describe('The worker that has leased the chunk of the unit.'),
  updated_at: UnixSeconds.nullable(),
});

/** Whether translations could be read for a page. */
export const TranslationsStateSchema = z.object({
  available: z.boolean(),
  reason: z.string().nullable().describe('Why they are not available.'),
  source_language: z.string().nullable(),
  target_language: z.string().nullable(),
  tasks_built: z
    .boolean()
    .describe('Whether the translation tasks are those of this release and generation.'),
});

/** The history of the only unit of a page. */
export const UnitHistorySchema = z.object({
  items: z
    .array(
      z.object({
        revision: Count,
        target_text: z.string(),
        source_text: z.string().describe('The source that the target was made for.'),
        is_cut: z.boolean().describe('Whether a text is only its first 65,536 characters.'),
        state: z.enum(UNIT_STATES),
        author: AuthorSchema,
        reviewer: z.string().nullable(),
        reviewer_token_id: z
          .string()
          .nullable()
          .describe('The token with which the reviewer accepted or returned the target.'),
        reason: z.string().nullable(),
        model: z.string().nullable(),
        prompt_digest: z.string().nullable(),
        glossary_generation: Count.nullable(),
        task_id: z.string().nullable(),
        release_id: ReleaseIdSchema.nullable(),
        propagated_from: z.string().nullable(),
        at: UnixSeconds,
      }),
    )
    .describe('Every target that was stored, newest last.'),
  is_cut: z.boolean().describe('Whether there are older entries.'),
});
