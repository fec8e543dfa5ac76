import { z } from 'zod';
import { TOKEN_ID } from '../../contract/actions/control-scopes.ts';
import { CONTROL_SCOPES } from '../../contract/schemas/vocabulary.ts';

const tokenLimits = z
  .strictObject({
    requestsPerSecond: z
      .number()
      .min(0.001)
      .max(100_000)
      .optional()
      .describe('Requests per second. Default: any.'),
    burst: z
      .int()
      .min(1)
      .max(1_000_000)
      .optional()
      .describe(
        'Requests that may come at the same time; needs requestsPerSecond. Default: those of one second.',
      ),
    concurrentRequests: z
      .int()
      .min(1)
      .max(100_000)
      .optional()
      .describe('Requests whose answers have not ended. Default: any number.'),
  })
  .refine(({ burst, requestsPerSecond }) => burst === undefined || requestsPerSecond !== undefined, {
    path: ['burst'],
    message: 'needs requestsPerSecond',
  });

/** The section `auth`. */
export const auth = z
  .strictObject({
    public: z
      .enum(['open', 'token'])
      .default('open')
      .describe('Whether public routes also require an admin token; probes never do.'),
    tokens: z
      .array(
        z.strictObject({
          file: z.string().min(1).describe('A file with one token. Reloaded when it changes.'),
          id: z
            .string()
            .regex(TOKEN_ID)
            .optional()
            .describe('Names the token in audit lines and histories. Default: the beginning of its digest.'),
          allow: z
            .array(z.enum(CONTROL_SCOPES))
            .min(1)
            .optional()
            .describe(
              'Groups of control actions that the token may call; every valid token may read, and run jobs that only read (`text-differences`). Default: all.',
            ),
          limits: tokenLimits
            .optional()
            .describe(
              'Limits of the requests with this token, in each worker process. A request beyond them gets 429 with `Retry-After`. Default: none.',
            ),
        }),
      )
      .max(64)
      .default([])
      .describe(
        'Tokens besides those of `admin.tokenFiles`, which may do everything: `file`, `id`, `allow`, and in `limits` `requestsPerSecond`, `burst` and `concurrentRequests`.',
      ),
  })
  .prefault({})
  .describe('Access to the public routes, and tokens with limited rights.');

/** The section `admin`. */
export const admin = z
  .strictObject({
    tokenFiles: z
      .array(z.string().min(1))
      .max(16)
      .default([])
      .describe(
        'Files with one token each that may do everything; several for rotation. Reloaded when they change.',
      ),
    exposeControl: z.boolean().default(false).describe('Whether control actions are forwarded.'),
  })
  .prefault({})
  .describe('The admin surface.');
