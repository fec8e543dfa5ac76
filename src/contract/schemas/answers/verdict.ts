import { z } from 'zod';
import { ReasonSchema } from '../../problems/problem-schema.ts';
import { ChannelSchema, ReleaseIdSchema, SnapshotIdSchema, UnixSeconds } from './common.ts';

const CheckSchema = z.object({
  name: z.string(),
  ok: z.boolean().nullable().describe('Null: not evaluated, because an earlier check failed.'),
  reason: ReasonSchema.optional(),
  message: z.string().optional(),
});

const AttestationBriefSchema = z.object({
  version: z.int().min(1),
  issued_at: UnixSeconds,
  expires_at: UnixSeconds,
});

/** Whether a channel's release may leave this server, and if not, why. */
export const VerdictSchema = z
  .object({
    channel: ChannelSchema,
    distributable: z.boolean(),
    reason: ReasonSchema.nullable().describe('Null exactly when distributable.'),
    message: z.string(),
    since: UnixSeconds.describe('When the channel entered this state; Unix seconds.'),
    release_id: ReleaseIdSchema.nullable(),
    snapshot_id: SnapshotIdSchema.nullable(),
    attestation: AttestationBriefSchema.nullable().describe('The accepted attestation.'),
  })
  .describe('The distribution health of one channel.');

/** A verdict in a few words. */
export const VerdictBriefSchema = VerdictSchema.pick({
  distributable: true,
  reason: true,
  message: true,
  since: true,
  release_id: true,
});

/** `/readyz`, both for 200 and 503. */
export const ReadinessAnswer = {
  schema: VerdictSchema.extend({
    checks: z.array(CheckSchema).describe('Every check, in order; only with `verbose`.').optional(),
  }),
};

export type Readiness = z.infer<typeof ReadinessAnswer.schema>;
