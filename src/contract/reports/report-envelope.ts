import { z } from 'zod';
import { answer, type Answer } from '../schemas/answers/answer.ts';
import { Count, EXAMPLE, UnixSeconds } from '../schemas/answers/common.ts';

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

/** A page that holds its only row, for examples. */
export const PAGE_EXAMPLE = { total: 1, offset: 0, limit: 100 } as const;

type ReportAnswer<T extends z.ZodRawShape> = Answer<z.ZodObject<typeof REPORT_ENVELOPE & T>> & {
  readonly body: z.ZodObject<T>;
};

/** The answer of one report: the envelope and its own fields. */
export function report<T extends z.ZodRawShape>(
  name: string,
  shape: T,
  example: z.input<z.ZodObject<T>>,
): ReportAnswer<T> {
  const schema = z.object({ ...REPORT_ENVELOPE, ...shape });
  const envelope = {
    report: name,
    generated_at: EXAMPLE.at,
    daemon: { version: '0.1.0', boot_id: '2f1c0c5e-6a0b-4c53-9a39-5f1f3f0f9d11' },
  };
  const paired = answer(schema, { ...envelope, ...example } as z.input<typeof schema>);
  return { ...paired, body: z.object(shape) };
}
