import { z } from 'zod';
import { Count, UnixSeconds } from '../schemas/answers/common.ts';

const REPORT_ENVELOPE = {
  report: z.string().describe('The name of the report.'),
  generated_at: UnixSeconds,
  daemon: z.object({ version: z.string(), boot_id: z.string() }),
} as const;

/** The common fields of lists. */
export const PAGE = {
  total: Count.describe('Matching rows on all pages.'),
  offset: Count,
  limit: z.int().min(1).max(1000),
} as const;

/** The answer of one report: its schema, and what its handler makes, without the envelope. */
interface ReportAnswer<T extends z.ZodRawShape> {
  readonly schema: z.ZodObject<typeof REPORT_ENVELOPE & T>;
  readonly body: z.ZodObject<T>;
}

/** The answer of one report: the envelope and its own fields. */
export function report<T extends z.ZodRawShape>(shape: T): ReportAnswer<T> {
  return { schema: z.object({ ...REPORT_ENVELOPE, ...shape }), body: z.object(shape) };
}
