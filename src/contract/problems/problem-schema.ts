import { z } from 'zod';
import { SERVICE_REASON_NAMES } from '../../domain/service-state/service-reasons.ts';
import { REASONS, type Reason } from '../../domain/verdict/reasons.ts';

/** A reason of the catalogue in `src/domain`. */
export const ReasonSchema = z
  .enum(Object.keys(REASONS) as [Reason, ...Reason[]])
  .describe('Why a release is not distributable; see the catalogue of reasons.');

const FieldErrorSchema = z.object({
  pointer: z
    .string()
    .describe(
      'RFC 6901 pointer into the body, or the name of a query parameter; empty for the body as a whole.',
    ),
  message: z.string(),
});

/** The body of every error: problem details with a code of the catalogue. Source: RFC 9457, section 3. */
export const ProblemSchema = z
  .object({
    type: z.string().describe('URI reference that names the problem type.'),
    title: z.string(),
    status: z.int().min(400).max(599).describe('The HTTP status of the answer.'),
    detail: z.string().describe('The error: what is wrong, where, and what to do.'),
    instance: z.string().describe('The request id; the log has the details under it.'),
    code: z.string().describe('A code of the problem catalogue.'),
    reason: z
      .enum(SERVICE_REASON_NAMES)
      .describe('Why a release is not distributable, or why a report of the daemon is missing.')
      .optional(),
    documentation: z
      .string()
      .describe(
        'The runbook of `reason`: severity, first command, remedy. Public routes have it only where `runbooks.url` names a copy, because their clients need not reach `/admin`.',
      )
      .optional(),
    errors: z.array(FieldErrorSchema).optional(),
    daemon: z
      .object({
        status: z.int().min(100).max(599).nullable(),
        code: z.string().nullable(),
      })
      .describe('The answer of the daemon; null if there was none.')
      .optional(),
  })
  .describe('Problem details (RFC 9457).');

export type Problem = z.infer<typeof ProblemSchema>;
