import { z } from 'zod';
import { Count, ReleaseIdSchema, UnixSeconds } from './common.ts';
import { ServiceAnswerSchema } from './service-state.ts';
import { VerdictBriefSchema } from './verdict.ts';

const AnnouncedBriefSchema = z.object({
  release_id: ReleaseIdSchema,
  current_at: UnixSeconds.describe('When it becomes the current release; Unix seconds.'),
});

/** `/healthz`. */
export const HealthAnswer = {
  schema: z.object({
    status: z
      .enum(['ok', 'degraded'])
      .describe(
        '`ok` exactly if the state of `service` is `healthy`, else `degraded`; `service` has the reason and the next step.',
      ),
    version: z.string(),
    uptime_seconds: Count,
    refresh: z.object({
      last_attempt_at: UnixSeconds.nullable(),
      last_success_at: UnixSeconds.nullable(),
      consecutive_failures: Count,
      last_error_code: z.string().nullable(),
    }),
    daemon: z
      .object({
        answers: z.boolean().describe('Whether the daemon answered the last call of this server.'),
        failure: z
          .enum(['unreachable', 'timeout'])
          .nullable()
          .describe('Nothing accepts its connections, or no answer comes in time.'),
        since: UnixSeconds.nullable().describe('Since when it does not answer; Unix seconds.'),
        message: z.string().nullable().describe('Since when it does not answer, and what to do.'),
      })
      .describe('The daemon, as this server sees it.'),
    attestation: z
      .object({
        version: z.int().min(1),
        issued_at: UnixSeconds,
        expires_at: UnixSeconds,
        age_seconds: Count,
      })
      .nullable()
      .describe('The accepted attestation.'),
    verdicts: z.object({ official: VerdictBriefSchema, localized: VerdictBriefSchema }),
    announced: z
      .object({ official: AnnouncedBriefSchema.nullable(), localized: AnnouncedBriefSchema.nullable() })
      .describe(
        'The announced release of each channel once it is here whole; null before that, and without one.',
      ),
    service: ServiceAnswerSchema,
  }),
};

export type Health = z.infer<typeof HealthAnswer.schema>;

/** The body of `/healthz` for a reader that may be older than the server: it may not know a state of it. */
export const HealthRead = HealthAnswer.schema.extend({
  service: ServiceAnswerSchema.optional().catch(undefined),
});

export type ReadHealth = z.infer<typeof HealthRead>;
