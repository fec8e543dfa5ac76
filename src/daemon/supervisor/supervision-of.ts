import { z } from 'zod';
import { SUPERVISION_VARIABLE, type Supervision } from './supervision.ts';

const SupervisionSchema: z.ZodType<Supervision> = z.object({
  restarts: z.int().min(0),
  ends: z.array(
    z.object({
      code: z.int().nullable(),
      signal: z.string().nullable(),
      at: z.int(),
      lived_seconds: z.number(),
    }),
  ),
});

/** Reads the history that the supervisor put into the environment; `null` without a supervisor. */
export function supervisionOf(env: Readonly<Record<string, string | undefined>>): Supervision | null {
  const text = env[SUPERVISION_VARIABLE];
  if (text === undefined) return null;
  try {
    return SupervisionSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
